#pragma once
/// Reduce-scatter and RMSNorm in one launch, pull: each rank sums its rows of every rank's input and normalises them
/// while they are in its cache.
///   sum[row][i] = in[0][row][i] + … + in[n-1][row][i]                        for every row that I own
///   normalised[row][i] = sum[row][i] · 1/√(mean(sum[row]²) + ε) · (γ[i] + offset)
/// Rank r owns a contiguous run of rows, the first rows mod n ranks one more.
/// Wins       always over the two kernels: the sum is not fetched again, one launch and its barriers are saved.
/// Per rank   reads about (n-1)/n·bytes from peers; 2 barriers; 1 round.
/// In place   wrong: the outputs are shards, a rank would overwrite input that its peers still read.
/// Scratch    none.
/// Source     the first half of two-shot; fused as in Modular's reducescatter_rmsnorm and aiter's fused kernels.
#include "core/partition.h"
#include "core/traits.h"
#include "device/ops.h"
#include "device/team.h"

namespace attune::variants {

struct reduce_scatter_rms_norm {
  static constexpr Collective collective = Collective::reduce_scatter_rms_norm;
  static constexpr Traits traits{Family::fused,
                                 "two-shot's first half and norm",
                                 Numerics::rank_order,
                                 Needs::peer_inputs,
                                 InPlace::unsafe,
                                 false,
                                 64,
                                 0};
  static constexpr Cost cost(int n, Bytes bytes) {
    return {.peer_reads = (n - 1) * bytes,
            .local_reads = 3 * bytes,  // my input, my sum again, gamma
            .local_writes = 2 * bytes,
            .barriers = 2,
            .rounds = 1};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& rows, auto norm_of) {
    const auto sum = rows.sum(team.rank);
    const auto normalised = rows.normalised(team.rank);
    block.barrier(team);  // every input is ready
    block.for_each_row(rows.mine(), rows.cols(), [&](Span row) {
      const double squares = block.sum_of(row, [&](auto i) {
        const auto total = narrow<T>(sum_over(team, rows, i, Sum{}));
        sum.store(i, total);
        return Prod{}(widen(total), widen(total));
      });
      const auto norm = norm_of(row, squares);
      block.for_each_pack(row, [&](auto i) { normalised.store(i, norm(i, widen(sum.load(i)))); });
    });
    block.barrier(team);  // every peer has read my input
  }
};

}  // namespace attune::variants
