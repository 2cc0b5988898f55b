#pragma once
/// Two-level allreduce: a chain of domains (sockets, or what shares a last-level cache). Rank j of a domain owns part j
/// of the message there: it adds its own domain's inputs to the partial sum of rank j of the domain before. So one
/// partial sum goes from each domain to the next, and one result comes back to each:
///   reduce(c)    partials[me][i] = partials[below][i] + in[first][i] + … + in[first+near-1][i]
///                the last domain has the sum: out[r][i] = it, for its own ranks r       for i in chunk c of part(me)
///   spread(c)    out[r][i] = out[last][i], for the ranks r of my domain                 in all other domains
/// Pipelined by chunks: a domain reduces chunk c while the next one reduces c-1, and spreads what has come back.
/// Wins       large messages where crossing is dear: 2·(domains-1)·bytes do, two_shot_write's divided by near.
/// Per rank   reads and writes bytes within its domain, 2·bytes/near across; 2 barriers; 2·(domains-1) steps across.
/// In place   safe: part j of a domain's buffers is touched by its rank j alone, but for reads of a finished sum.
/// Scratch    the partial sums of my part, in accumulators: up to 4 bytes for an element of 1.
/// Numerics   partial sums are never rounded, and ranks are added in order: the bits of two_shot_write.
/// Source     hierarchies of Karonis et al. 2000 and of MPI libraries' XHC (Katevenis et al., CLUSTER 2022), as a chain
///            because only a chain adds in rank order.
#include "core/partition.h"
#include "core/traits.h"
#include "device/views.h"

namespace attune::variants {

struct two_level {
  static constexpr Traits traits{
      Family::two_level, "two-level, chain", Numerics::rank_order, Needs::domains, InPlace::safe, true, 64, 0};
  /// Of two domains where ranks are even, else of one; elements that are their own accumulators.
  static constexpr Cost cost(int n, Bytes bytes) {
    const int domains = (n & 1) == 0 ? 2 : 1;
    const int near = domains == 2 ? n >> 1 : n;
    return {.peer_reads = (n - domains + 2 * (domains - 1)) * bytes,
            .peer_writes = (n - domains) * bytes,
            .local_reads = domains * bytes,
            .local_writes = (2 * domains - 1) * bytes,
            .notifies = 2 * near * (domains - 1),
            .barriers = 2,
            .rounds = 2 * (domains - 1) + (near > 1 ? 2 : 0)};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes bytes) { return 4 * bytes; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& buffers, auto op, auto epilogue) {
    block.barrier(team);  // every input is ready, and nobody reads my scratch of the launch before
    const Team<0> near = domain_of(team);
    const int last = team.ranks - near.ranks + near.rank;  // who gets to the sums of my part
    const Chunks chunks =
        chunks_of(block.share_of(block.shard_of(buffers.count, near.rank, near.ranks)), buffers.chunk);
    auto back = chunks.begin();  // the next chunk that comes back
    int lag = 1;                 // chunks that I am ahead of it: no domain waits for one behind it
    for (int rank = team.rank; rank < last; rank += near.ranks) ++lag;
    for (const Span chunk : chunks) {
      if (team.rank >= near.ranks) block.wait(team.rank - near.ranks);  // the partial sums of this chunk
      reduce<T>(block, team, near, buffers, chunk, op, epilogue);
      if (team.rank < last) {
        block.notify(team.rank + near.ranks);
        if (--lag < 0) spread(block, team, near, buffers, *back, last), ++back;
      }
      for (int rank = near.rank; rank < last && team.rank == last; rank += near.ranks) block.notify(rank);
    }
    for (; team.rank < last && back != chunks.end(); ++back) spread(block, team, near, buffers, *back, last);
    block.drain();
    block.barrier(team);  // every output has landed, everything has been read
  }

 private:
  template <class T>
  ATTUNE_DEVICE static void reduce(auto& block, const auto& team, const Team<0>& near, const auto& buffers, Span chunk,
                                   auto op, auto epilogue) {
    const int first = team.rank - near.rank;
    const bool follows = first > 0, ends = first + near.ranks == team.ranks;
    const auto before = buffers.partials(follows ? team.rank - near.ranks : team.rank);
    const auto partials = buffers.partials(team.rank);
    const auto in = by_rank(near, [&](int place) { return buffers.in(first + place); });
    const auto out = by_distance(near, [&](int place) { return buffers.out(first + place); });
    block.for_each_pack(
        chunk, [=](auto i) __attribute__((always_inline)) {
          auto sum = widen(in[0].load(i));
          if (follows) sum = op(before.load(i), sum);
          for (int place = 1; place < near.ranks; ++place)
            sum = op(sum, widen(in[static_cast<std::size_t>(place)].load(i)));
          if (ends) {
            send_to_all(near, out, i, narrow<T>(epilogue(i, sum)));
          } else {
            partials.store(i, sum);
          }
        });
  }

  ATTUNE_DEVICE static void spread(auto& block, const auto& team, const Team<0>& near, const auto& buffers, Span chunk,
                                   int last) {
    block.wait(last);  // the sums of this chunk
    const auto sums = buffers.out(last);
    const auto out = by_distance(near, [&](int place) { return buffers.out(team.rank - near.rank + place); });
    block.for_each_pack(
        chunk, [=](auto i) __attribute__((always_inline)) {
          const auto sum = sums.load(i);
          for (int step = 0; step < near.ranks; ++step) out[static_cast<std::size_t>(step)].send(i, sum);
        });
  }
};

}  // namespace attune::variants
