#pragma once
/// Two-shot allreduce in the switch: each rank asks for the sum of its shard and has it stored everywhere.
///   out[r][i] = in[0][i] + … + in[n-1][i]   for i in shard(me), every rank r, added and copied by the switch
/// Wins       medium and large messages where there is a switch that adds: a rank sends and receives bytes/n.
/// Per rank   receives and sends bytes/n (the switch reads and writes n times as much); 2 barriers; 2 rounds.
/// In place   safe: shard r of every buffer is touched by rank r alone.
/// Scratch    none. Numerics: the switch's order; 16-bit floats are added in f32 and rounded once.
/// Source     NVLink SHARP's multimem.ld_reduce and multimem.st; PyTorch's multimem_all_reduce, NCCL's NVLS.
#include "core/partition.h"
#include "core/traits.h"
#include "device/multimem.h"
#include "device/team.h"

namespace attune::variants {

struct multimem_two_shot {
  static constexpr Traits traits{
      Family::multimem, "two-shot, in the switch", Numerics::in_switch, Needs::multimem, InPlace::safe, false, 64, 0};
  static constexpr Cost cost(int n, Bytes bytes) {  // the switch's reads and writes are the asker's
    return {.peer_reads = (n - 1) * bytes,
            .peer_writes = (n - 1) * bytes,
            .local_reads = bytes,
            .local_writes = bytes,
            .barriers = 2,
            .rounds = 2};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(MultimemBlock auto& block, const Team<Ranks>& team, const auto& buffers, auto op,
                                auto epilogue) {
    block.barrier(team);  // every input is ready
    block.for_each_pack(block.share_of(block.shard_of(buffers.count, team.rank, team.ranks)), [&](auto i) {
      const auto sum = reduce_in_switch<T>(team, buffers, i, op);
      store_in_switch(team, buffers, i, narrow<T>(epilogue(i, widen(sum))));
    });
    block.barrier(team);  // every output has landed, every input has been read
  }
};

}  // namespace attune::variants
