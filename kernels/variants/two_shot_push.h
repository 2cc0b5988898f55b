#pragma once
/// Two-shot allreduce, push: each rank pushes every shard to its owner, the owner reduces and writes the sum into
/// every rank's output. No remote read at all.
///   1. inbox[r][me][i] = in[me][i]                               for i in shard(r), every peer r
///   2. out[r][i] = inbox[me][0][i] + … + inbox[me][n-1][i]         for i in shard(me), every rank r (mine from `in`)
/// Wins       large messages where remote writes are faster than remote reads (they need no answer).
/// Per rank   writes about 2(n-1)/n·bytes to peers; 2 barriers; 2 rounds.
/// In place   safe: shard r of every output is written by rank r alone, after the barrier that ends the pushes.
/// Scratch    one slot of a shard per writer, in a region that nobody reads after a launch: no barrier before.
/// Source     aiter's write mode (ROCm/aiter #1880, #1910); its slots were strided by the floor of a shard and wrong
///            for sizes that the ranks do not divide: the stride is the largest shard.
#include "core/partition.h"
#include "core/traits.h"
#include "device/views.h"

namespace attune::variants {

struct two_shot_push {
  static constexpr Traits traits{
      Family::two_shot, "two-shot, push", Numerics::rank_order, Needs::peer_inboxes, InPlace::safe, false, 64, 0};
  static constexpr Cost cost(int n, Bytes bytes) {
    return {.peer_writes = 2 * (n - 1) * bytes,
            .local_reads = (2 * n - 1) * bytes,
            .local_writes = bytes,
            .barriers = 2,
            .rounds = 2};
  }
  static constexpr Bytes scratch(int ranks, Bytes bytes) { return ranks * largest_part(bytes, ranks, largest_pack); }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& buffers, auto op, auto epilogue) {
    const Index slot = block.slot_of(buffers.count, team.ranks);
    for_each_peer(team, [&](int owner) {
      const Span shard = block.shard_of(buffers.count, owner, team.ranks);
      const auto in = buffers.in(team.rank);
      const auto inbox = buffers.inbox(owner).from(shard.first - team.rank * slot);
      block.for_each_pack(
          block.share_of(shard), [=](auto i) __attribute__((always_inline)) { inbox.send(i, in.load(i)); });
    });
    block.drain();
    block.barrier(team);  // every part of my shard has come

    const Span shard = block.shard_of(buffers.count, team.rank, team.ranks);
    const auto inbox = buffers.inbox(team.rank);
    const auto parts = by_rank(
        team, [&](int writer) { return inbox.from(shard.first - writer * slot); }, buffers.in(team.rank));
    const auto out = by_distance(team, [&](int rank) { return buffers.out(rank); });
    block.for_each_pack(
        block.share_of(shard), [=](auto i) __attribute__((always_inline)) {
          send_to_all(team, out, i, narrow<T>(epilogue(i, sum_over(team, parts, i, op))));
        });
    block.drain();
    block.barrier(team);  // every output has landed
  }
};

}  // namespace attune::variants
