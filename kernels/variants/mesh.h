#pragma once
/// One-shot allreduce, pull ("mesh"): every rank reads every rank's input and sums it for itself.
///   out[i] = in[0][i] + in[1][i] + … + in[n-1][i]   for every i, on every rank
/// Wins       small messages: one remote step, at n times the traffic of the two-shot forms.
/// Per rank   reads (n-1)·bytes from peers; 2 barriers; 1 round.
/// In place   wrong: a rank would overwrite input that its peers still read.
/// Scratch    none.
/// Source     the flat shared-memory allreduce; on GPUs TensorRT-LLM's one-shot and vLLM's 1-stage kernel, whose
///            missing exit barrier became a bug more than once: peers read my input until the last barrier.
#include "core/partition.h"
#include "core/traits.h"
#include "device/views.h"

namespace attune::variants {

struct mesh {
  static constexpr Traits traits{
      Family::one_shot, "one-shot, pull", Numerics::rank_order, Needs::peer_inputs, InPlace::unsafe, false, 64, 0};
  static constexpr Cost cost(int n, Bytes bytes) {
    return {.peer_reads = n * (n - 1) * bytes,
            .local_reads = n * bytes,
            .local_writes = n * bytes,
            .barriers = 2,
            .rounds = 1};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& buffers, auto op, auto epilogue) {
    block.barrier(team);  // every input is ready
    const auto in = by_rank(team, [&](int rank) { return buffers.in(rank); });
    const auto out = buffers.out(team.rank);
    block.for_each_pack(
        block.share_of({0, buffers.count}), [=](auto i) __attribute__((always_inline)) {
          out.store(i, narrow<T>(epilogue(i, sum_over(team, in, i, op))));
        });
    block.barrier(team);  // every peer has read my input
  }
};

}  // namespace attune::variants
