#pragma once
/// Two-shot allreduce, pull: reduce my shard from everyone, then copy everyone's shard from its owner.
///   1. reduce-scatter   scratch[me][i] = in[0][i] + … + in[n-1][i]   for i in shard(me)
///   2. all-gather       out[i] = scratch[r][i]                       for i in shard(r), every rank r
/// Wins       medium and large messages where peers' outputs cannot be written.
/// Per rank   reads about 2(n-1)/n·bytes from peers; 2 barriers; 2 rounds.
/// In place   safe: the second barrier proves that every peer has finished reading `in`.
/// Scratch    the message's place in full (only my shard is used); reusable at once, because every user of scratch
///            begins with a barrier: who passes it has seen every peer finish the launch before.
/// Source     reduce-scatter + all-gather (Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005) with direct reads
///            in place of messages; vLLM's 2-stage kernel is the same on GPUs.
#include "core/partition.h"
#include "core/traits.h"
#include "device/views.h"

namespace attune::variants {

struct two_shot {
  static constexpr Traits traits{
      Family::two_shot, "two-shot, pull", Numerics::rank_order, Needs::peer_scratch, InPlace::safe, false, 64, 0};
  static constexpr Cost cost(int n, Bytes bytes) {
    return {.peer_reads = 2 * (n - 1) * bytes,
            .local_reads = 2 * bytes,
            .local_writes = (n + 1) * bytes,
            .barriers = 2,
            .rounds = 2};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes bytes) { return bytes; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& buffers, auto op, auto epilogue) {
    block.barrier(team);  // every input is ready
    const auto in = by_rank(team, [&](int rank) { return buffers.in(rank); });
    const auto sums = buffers.scratch(team.rank);
    const auto out = buffers.out(team.rank);
    const Span mine = block.share_of(block.shard_of(buffers.count, team.rank, team.ranks));
    block.for_each_pack(
        mine, [=](auto i)
                  __attribute__((always_inline)) { sums.send(i, narrow<T>(epilogue(i, sum_over(team, in, i, op)))); });
    block.drain();

    block.barrier(team);  // every shard is summed, every input may be overwritten
    for_each_rank(team, [&](int rank) {
      block.copy(block.share_of(block.shard_of(buffers.count, rank, team.ranks)), buffers.scratch(rank), out);
    });
  }
};

}  // namespace attune::variants
