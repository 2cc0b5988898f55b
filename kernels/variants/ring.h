#pragma once
/// Ring allreduce, pull: every rank reads from its left neighbour only. In 2(n-1) steps a shard travels around:
///   step s < n-1   out[i] = in[me][i] + left[i]   for i in shard(me-1-s): partial sums (reduce-scatter)
///   step s ≥ n-1   out[i] = left[i]               for i in shard(me-1-s): finished sums (all-gather)
/// Pipelined by chunks: a rank works on chunk c while its right neighbour works on chunk c-1.
/// Wins       where only neighbours have a fast path; each link carries 2(n-1)/n·bytes, the least for a ring.
/// Per rank   reads about 2(n-1)/n·bytes from the left neighbour; 2(n-1) rounds.
/// In place   safe: before a shard is overwritten, a chain of waits has passed through the right neighbour's read.
/// Scratch    none: partial sums live in `out`. Numerics: they are rounded to T on every hop.
/// Source     Patarasuk and Yuan 2009 (bandwidth-optimal ring); NCCL's default algorithm for large messages.
#include "core/partition.h"
#include "core/traits.h"
#include "device/team.h"

namespace attune::variants {

struct ring {
  static constexpr Traits traits{
      Family::ring, "ring, pull", Numerics::per_hop, Needs::peer_outputs, InPlace::safe, true, 64, 0};
  static constexpr Cost cost(int n, Bytes bytes) {
    return {.peer_reads = 2 * (n - 1) * bytes,
            .local_reads = (n - 1) * bytes,
            .local_writes = 2 * (n - 1) * bytes,
            .notifies = n * (2 * n - 1),
            .rounds = 2 * (n - 1)};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& buffers, auto op, auto epilogue) {
    const int turn = team.ranks - 1;  // the step in which sums are finished
    const int steps = turn + turn;
    const int left = team.neighbour(-1);
    const int right = team.neighbour(1);
    block.handshake(right, left);  // left's input is ready
    for (int step = 0; step < steps; ++step) {
      const int owner = team.neighbour(step < turn ? -1 - step : turn - step);
      const Span mine = block.share_of(block.shard_of(buffers.count, owner, team.ranks));
      for (const Span part : chunks_of(mine, buffers.chunk)) {
        if (step > 0) block.wait(left);  // left has written this part
        if (step < turn)
          block.for_each_pack(part, [&](auto i) { add<T>(team, buffers, i, step, op, epilogue); });
        else
          block.copy(part, buffers.out(left), buffers.out(team.rank));
        if (step + 1 < steps) block.notify(right);  // right may read this part
      }
    }
    block.handshake(left, right);  // right has read all of mine
  }

 private:
  template <class T>
  ATTUNE_DEVICE static void add(const auto& team, const auto& buffers, auto i, int step, auto op, auto epilogue) {
    const int left = team.neighbour(-1);
    const auto so_far = step == 0 ? buffers.in(left).load(i) : buffers.out(left).load(i);
    const auto sum = op(widen(so_far), widen(buffers.in(team.rank).load(i)));
    const bool last = step + 2 == team.ranks;
    buffers.out(team.rank).store(i, last ? narrow<T>(epilogue(i, sum)) : narrow<T>(sum));
  }
};

}  // namespace attune::variants
