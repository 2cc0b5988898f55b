#pragma once
/// Allreduce, residual add and RMSNorm in one launch, write mode: each rank sums and normalises its rows of every
/// rank's input and writes both into every rank's outputs.
///   sum[r][row][i] = in[0][row][i] + … + in[n-1][row][i] + residual[row][i]        for every row that I own, every
///   rank r normalised[r][row][i] = sum[row][i] · 1/√(mean(sum[row]²) + ε) · (γ[i] + offset)
/// Rank r owns a contiguous run of rows, the first rows mod n ranks one more. The sum is rounded to T before the
/// residual is added and after it, and the statistics are those of the rounded result: bit for bit what an allreduce,
/// an addition and a norm give one after the other. The residual is null or the same on all ranks.
/// Wins       over the three kernels: each rank normalises only its rows, while they are in its cache.
/// Per rank   reads about (n-1)/n·bytes from peers and writes twice as much to them; 2 barriers; 2 rounds.
/// In place   safe: a row of every buffer is touched by its owner alone, read before it is written.
/// Scratch    none.
/// Source     two-shot, write mode, with the epilogue of TensorRT-LLM's and aiter's fused allreduce.
#include "core/partition.h"
#include "core/traits.h"
#include "device/ops.h"
#include "device/team.h"

namespace attune::variants {

struct allreduce_rms_norm {
  static constexpr Collective collective = Collective::allreduce_rms_norm;
  static constexpr Traits traits{Family::fused,
                                 "two-shot, write, and norm",
                                 Numerics::rank_order,
                                 Needs::peer_outputs,
                                 InPlace::safe,
                                 false,
                                 64,
                                 0};
  static constexpr Cost cost(int n, Bytes bytes) {  // with a residual
    return {.peer_reads = (n - 1) * bytes,
            .peer_writes = 2 * (n - 1) * bytes,
            .local_reads = 4 * bytes,  // my input, the residual, my sum again, gamma
            .local_writes = 2 * bytes,
            .barriers = 2,
            .rounds = 2};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& rows, auto norm_of) {
    block.barrier(team);  // every input is ready
    block.for_each_row(rows.mine(), rows.cols(), [&](Span row) {
      const double squares = block.sum_of(row, [&](auto i) {
        const auto total = rows.with_residual(i, sum_over(team, rows, i, Sum{}));
        for_each_rank(team, [&](int rank) { rows.sum(rank).store(i, total); });
        return Prod{}(widen(total), widen(total));
      });
      const auto norm = norm_of(row, squares);
      block.for_each_pack(row, [&](auto i) {
        const auto result = norm(i, widen(rows.sum(team.rank).load(i)));
        for_each_rank(team, [&](int rank) { rows.normalised(rank).store(i, result); });
      });
    });
    block.barrier(team);  // every output has landed, every input has been read
  }
};

}  // namespace attune::variants
