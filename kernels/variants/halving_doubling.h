#pragma once
/// Recursive halving and doubling, pull: with c = the largest power of two of ranks, log2(c) steps of pairs at distance
/// 1, 2, 4, … halve what a rank is responsible for, and as many steps back double it again.
///   fold      out[r] = in[r] + in[c+r]                      ranks c…n-1 hand their input to ranks 0…n-c-1
///   halving   out[me][i] = mine[i] + partner's[i]           for i in my half of the span that I share with partner
///   doubling  out[me][i] = out[partner][i]                  for i in partner's half, the distances backwards
///   unfold    out[c+r] = out[r]
/// Wins       middle sizes on many ranks: 2·log2(n) rounds in place of the ring's 2(n-1), at the same traffic.
/// Per rank   reads about 2(c-1)/c·bytes (a folded pair: bytes more each); 1 barrier; 2·log2(c) rounds.
/// In place   safe: a rank writes the half that it keeps, peers read the half that it gives away.
/// Scratch    none: partial sums live in `out`. Numerics: they are rounded to T in every step.
/// Source     recursive vector halving, distance doubling (Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005).
#include "core/partition.h"
#include "core/traits.h"
#include "device/team.h"

namespace attune::variants {

struct halving_doubling {
  static constexpr Traits traits{Family::halving_doubling,
                                 "halving-doubling, pull",
                                 Numerics::per_hop,
                                 Needs::peer_outputs,
                                 InPlace::safe,
                                 false,
                                 64,
                                 0};
  static constexpr Cost cost(int n, Bytes bytes) {
    int steps = 0;
    for (int distance = 1; distance < core_of(n); distance += distance) ++steps;
    const int folded = n - core_of(n);
    return {.peer_reads = 2 * (n - 1) * bytes,
            .local_reads = (n - 1) * bytes,
            .local_writes = 2 * (n - 1) * bytes,
            .notifies = 2 * steps * core_of(n) + 2 * folded,
            .barriers = 1,
            .rounds = 2 * steps + (folded > 0 ? 2 : 0)};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& buffers, auto op, auto epilogue) {
    const Span share = block.share_of({0, buffers.count});  // halved as a whole: data stays with its block
    const int core = core_of(team.ranks);
    const int me = team.rank;
    const int mate = me < core ? me + core : me - core;  // who is folded into whom
    if (me >= core) {
      block.handshake(mate, mate);  // my input is ready; then: the result is
      block.copy(share, buffers.out(mate), buffers.out(me));
    } else {
      if (mate < team.ranks) {
        block.wait(mate);
        block.for_each_pack(share, [&](auto i) {
          buffers.out(me).store(i, narrow<T>(op(widen(buffers.in(me).load(i)), widen(buffers.in(mate).load(i)))));
        });
      }
      halve<T>(block, team, share, buffers, op, epilogue);
      for (int distance = core >> 1; distance > 0; distance >>= 1) {
        const int partner = me ^ distance;
        block.handshake(partner, partner);  // what partner is responsible for is complete
        block.copy(kept(block, share, partner, distance), buffers.out(partner), buffers.out(me));
      }
      if (mate < team.ranks) block.notify(mate);
    }
    block.barrier(team);  // every peer has read my output
  }

 private:
  ATTUNE_BOTH static constexpr int core_of(int ranks) {
    int core = 1;
    while (core + core <= ranks) core += core;
    return core;
  }
  /// What `rank` is responsible for after the step at `distance`.
  ATTUNE_DEVICE static Span kept(const auto& block, Span span, int rank, int distance) {
    for (int step = 1; step <= distance; step += step) span = block.part_of(span, (rank & step) != 0 ? 1 : 0, 2);
    return span;
  }
  template <class T>
  ATTUNE_DEVICE static void halve(auto& block, const auto& team, Span share, const auto& buffers, auto op,
                                  auto epilogue) {
    const int core = core_of(team.ranks);
    for (int distance = 1; distance < core; distance += distance) {
      const int partner = team.rank ^ distance;
      const auto partial = [&](int rank, auto i) {  // before the first step, who was not folded has no sum yet
        const bool input = distance == 1 && rank + core >= team.ranks;
        return widen(input ? buffers.in(rank).load(i) : buffers.out(rank).load(i));
      };
      block.handshake(partner, partner);  // partner's partial sums are ready
      block.for_each_pack(kept(block, share, team.rank, distance), [&](auto i) {
        const auto sum = op(partial(team.rank, i), partial(partner, i));
        buffers.out(team.rank).store(i, distance + distance < core ? narrow<T>(sum) : narrow<T>(epilogue(i, sum)));
      });
    }
  }
};

}  // namespace attune::variants
