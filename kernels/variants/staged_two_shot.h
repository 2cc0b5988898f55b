#pragma once
/// Two-shot allreduce through slots: inputs and outputs may be any memory, seen by their own rank alone. Chunk by
/// chunk, every rank sends each shard to its owner's inbox; the owner sums it in registers, straight into its own
/// output and into a slot of its scratch; every rank collects the other shards from there.
///   deliver(c)   inbox[r][slot c, me][i] = in[i]                     for i in shard(r) of chunk c, every peer r
///   reduce(c)    out[i] = scratch[me][slot c][i] = the sum, in rank order, of in[i] and inbox[me][slot c, r][i]
///   collect(c)   out[i] = scratch[r][slot c][i]                      for i in shard(r), every peer r
/// Between the flag after reduce(c) and the wait before reduce(c+1) a rank collects c-1 and delivers c+2. That takes
/// three slots each: when I deliver c+2 its owner may read c and c+1; when I sum c peers may collect c-2 and c-1.
/// Wins       memory that peers cannot address: a rank's own shard is never copied, the slots stay in the cache.
/// Per rank   (5n-2)/n·bytes of loads and stores, the least there is with private buffers.
/// In place   safe: a shard has been delivered, or is summed, before its output is written.
/// Scratch    three slots of a chunk per block, in inbox and scratch. Inbox: nobody reads one after its owner's launch.
///            Scratch: written only after a wait for every peer, which thereby has left the launch before.
/// Source     owner-computes in place of the chains of the movement-avoiding reductions of Peng et al. (SC'23).
#include "core/partition.h"
#include "core/traits.h"
#include "device/views.h"

namespace attune::variants {

struct staged_two_shot {
  static constexpr Traits traits{
      Family::two_shot, "two-shot, staged", Numerics::rank_order, Needs::peer_slots, InPlace::safe, true, 64, 0};
  static constexpr Cost cost(int n, Bytes bytes) {
    return {.peer_reads = (n - 1) * bytes,
            .peer_writes = (n - 1) * bytes,
            .local_reads = (2 * n - 1) * bytes,
            .local_writes = (n + 1) * bytes,
            .notifies = 2 * n * (n - 1),
            .rounds = 2};
  }
  static constexpr int slots = 3;
  static constexpr Bytes scratch(int ranks, Bytes bytes) {
    return slots * ranks * largest_part(bytes, ranks, largest_pack);
  }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& buffers, auto op, auto epilogue) {
    const Span mine = block.share_of({0, buffers.count});
    const Index chunk = buffers.chunk < buffers.count ? buffers.chunk : buffers.count;
    const auto piece = [&](Index step) {
      const Index first = step * chunk < mine.count ? step * chunk : mine.count;
      return Span{mine.first + first, mine.count - first < chunk ? mine.count - first : chunk};
    };
    const Index shard = block.slot_of(chunk, team.ranks);
    const auto slot = [&](Index which) { return Slot{shard, (block.index() * slots + which) * team.ranks * shard}; };
    deliver(block, team, buffers, piece(0), slot(0));
    signal(block, team);
    deliver(block, team, buffers, piece(1), slot(1));
    Index step = 0, now = 0;  // the slot of this step
    for (;; ++step) {
      await(block, team);  // every part of my shard of this step has come, the sums of the step before are there
      reduce<T>(block, team, buffers, piece(step), slot(now), op, epilogue);
      signal(block, team);
      const Index other = now == 0 ? slots - 1 : now - 1;  // of the step before, and of the one after the next
      if (step > 0) collect(block, team, buffers, piece(step - 1), slot(other));
      deliver(block, team, buffers, piece(step + 2), slot(other));
      if ((step + 1) * chunk >= mine.count) break;
      now = now == slots - 1 ? 0 : now + 1;
    }
    await(block, team);
    collect(block, team, buffers, piece(step), slot(now));
  }

 private:
  /// A slot: elements of the largest shard, and where rank 0's begins.
  struct Slot {
    Index shard;
    Index first;
    [[nodiscard]] ATTUNE_DEVICE Index of(int rank) const { return first + rank * shard; }
  };

  ATTUNE_DEVICE static void signal(auto& block, const auto& team) {
    block.drain();
    for_each_peer(team, [&](int peer) { block.notify(peer); });
  }
  ATTUNE_DEVICE static void await(auto& block, const auto& team) {
    for_each_peer(team, [&](int peer) { block.wait(peer); });
  }

  ATTUNE_DEVICE static void deliver(auto& block, const auto& team, const auto& buffers, Span piece, Slot slot) {
    const auto in = buffers.in(team.rank);
    for_each_peer(team, [&](int peer) {
      const Span shard = block.part_of(piece, peer, team.ranks);
      const auto inbox = buffers.inbox(peer).from(shard.first - slot.of(team.rank));
      block.for_each_pack(
          shard, [=](auto i) __attribute__((always_inline)) { inbox.send(i, in.load(i)); });
    });
  }

  template <class T>
  ATTUNE_DEVICE static void reduce(auto& block, const auto& team, const auto& buffers, Span piece, Slot slot, auto op,
                                   auto epilogue) {
    const Span shard = block.part_of(piece, team.rank, team.ranks);
    const auto sums = buffers.scratch(team.rank).from(shard.first - slot.of(0));
    const auto out = buffers.out(team.rank);
    const auto inbox = buffers.inbox(team.rank);
    const auto parts = by_rank(
        team, [&](int rank) { return inbox.from(shard.first - slot.of(rank)); }, buffers.in(team.rank));
    block.for_each_pack(
        shard, [=](auto i) __attribute__((always_inline)) {
          const auto result = narrow<T>(epilogue(i, sum_over(team, parts, i, op)));
          out.store(i, result);
          sums.send(i, result);
        });
  }

  ATTUNE_DEVICE static void collect(auto& block, const auto& team, const auto& buffers, Span piece, Slot slot) {
    const auto out = buffers.out(team.rank);
    for_each_peer(team, [&](int peer) {
      const Span shard = block.part_of(piece, peer, team.ranks);
      const auto sums = buffers.scratch(peer).from(shard.first - slot.of(0));
      block.for_each_pack(
          shard, [=](auto i) __attribute__((always_inline)) { out.store(i, sums.load(i)); });
    });
  }
};

}  // namespace attune::variants
