#pragma once
/// One-shot allreduce in the switch: every rank asks for the sum of everything.
///   out[i] = in[0][i] + in[1][i] + … + in[n-1][i]   for every i, on every rank, added by the switch
/// Wins       small messages where there is a switch that adds: one remote step, and each rank receives bytes alone.
/// Per rank   receives bytes (the switch reads n·bytes for it); 2 barriers; 1 round.
/// In place   wrong: a rank would overwrite input that the switch still reads for its peers.
/// Scratch    none. Numerics: the switch's order; 16-bit floats are added in f32 and rounded once.
/// Source     NVLink SHARP's multimem.ld_reduce; PyTorch's multimem_one_shot, NCCL's NVLS.
#include "core/partition.h"
#include "core/traits.h"
#include "device/multimem.h"
#include "device/team.h"

namespace attune::variants {

struct multimem_one_shot {
  static constexpr Traits traits{
      Family::multimem, "one-shot, in the switch", Numerics::in_switch, Needs::multimem, InPlace::unsafe, false, 64, 0};
  static constexpr Cost cost(int n, Bytes bytes) {  // the switch's reads are the asker's
    return {.peer_reads = n * (n - 1) * bytes,
            .local_reads = n * bytes,
            .local_writes = n * bytes,
            .barriers = 2,
            .rounds = 1};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(MultimemBlock auto& block, const Team<Ranks>& team, const auto& buffers, auto op,
                                auto epilogue) {
    block.barrier(team);  // every input is ready
    block.for_each_pack(block.share_of({0, buffers.count}), [&](auto i) {
      const auto sum = reduce_in_switch<T>(team, buffers, i, op);
      buffers.out(team.rank).store(i, narrow<T>(epilogue(i, widen(sum))));
    });
    block.barrier(team);  // every peer has read my input
  }
};

}  // namespace attune::variants
