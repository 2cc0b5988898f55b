#pragma once
/// Two complementary binary trees, pull: each carries half the message to its root and back, chunk by chunk.
///   reduce      out[me][i] = in[me][i] + children's[i]   from the leaves up; a leaf's is its input
///   broadcast   out[me][i] = out[parent][i]              from the root down
/// A leaf of one tree has children in the other: all ranks work about alike. Pipelined: a parent reads chunk c while
/// its children make chunk c+1, and the trees overlap, because a leaf of the first goes on to the second at once.
/// Wins       small and middle messages on many ranks where a rank should talk to few others: log2(n) rounds up and
///            down. The traffic is the ring's.
/// Per rank   reads about 2(n-1)/n·bytes from at most 3 neighbours in each tree; about 2·log2(n) rounds; no barrier.
/// In place   safe: an element of my input is read by my parent before the sum that overwrites it comes back down.
/// Scratch    none: partial sums live in `out`. Numerics: they are rounded to T at every node.
/// Source     two-tree broadcast and reduction (Sanders, Speck, Träff 2009); NCCL's double binary trees.
#include "core/binary_tree.h"
#include "core/partition.h"
#include "core/traits.h"
#include "device/team.h"

namespace attune::variants {

struct tree {
  static constexpr Traits traits{
      Family::tree, "two trees, pull", Numerics::per_hop, Needs::peer_outputs, InPlace::safe, true, 64, 0};
  static constexpr Cost cost(int n, Bytes bytes) {
    int parents = 0;
    int deepest = 0;
    for (int rank = 0; rank < n; ++rank) {
      if (!place_in_tree(rank, n, 0).leaf()) ++parents;
      int depth = 0;
      for (int at = rank; !place_in_tree(at, n, 0).root(); at = place_in_tree(at, n, 0).parent) ++depth;
      deepest = depth > deepest ? depth : deepest;
    }
    return {.peer_reads = 2 * (n - 1) * bytes,
            .local_reads = parents * bytes,
            .local_writes = (parents + n - 1) * bytes,
            .notifies = 6 * (n - 1),
            .rounds = 2 * deepest};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& buffers, auto op, auto epilogue) {
    const Span share = block.share_of({0, buffers.count});
    for (int which = 0; which < 2; ++which)
      reduce<T>(block, team, which, block.part_of(share, which, 2), buffers, op, epilogue);
    for (int which = 0; which < 2; ++which) broadcast(block, team, which, block.part_of(share, which, 2), buffers);
    for (int which = 0; which < 2; ++which) {  // children have read all of mine
      const TreePlace me = place_in_tree(team.rank, team.ranks, which);
      if (!me.root()) block.notify(me.parent);
      for_each_child(me, [&](int child) { block.wait(child); });
    }
  }

 private:
  /// One after the other, at constant places: a GPU keeps them in registers.
  ATTUNE_DEVICE static void for_each_child(const TreePlace& me, auto f) {
    if (me.children[0] >= 0) f(me.children[0]);
    if (me.children[1] >= 0) f(me.children[1]);
  }
  template <class T>
  ATTUNE_DEVICE static void reduce(auto& block, const auto& team, int which, Span half, const auto& buffers, auto op,
                                   auto epilogue) {
    const TreePlace me = place_in_tree(team.rank, team.ranks, which);
    const auto partial = [&](int child, auto i) {
      const bool leaf = place_in_tree(child, team.ranks, which).leaf();
      return widen(leaf ? buffers.in(child).load(i) : buffers.out(child).load(i));
    };
    for (const Span part : chunks_of(half, buffers.chunk)) {
      for_each_child(me, [&](int child) { block.wait(child); });  // its partial sum of this chunk is ready
      if (!me.leaf())
        block.for_each_pack(part, [&](auto i) {
          auto sum = widen(buffers.in(team.rank).load(i));
          for_each_child(me, [&](int child) { sum = op(sum, partial(child, i)); });
          buffers.out(team.rank).store(i, me.root() ? narrow<T>(epilogue(i, sum)) : narrow<T>(sum));
        });
      if (!me.root()) block.notify(me.parent);
    }
  }
  ATTUNE_DEVICE static void broadcast(auto& block, const auto& team, int which, Span half, const auto& buffers) {
    const TreePlace me = place_in_tree(team.rank, team.ranks, which);
    for (const Span part : chunks_of(half, buffers.chunk)) {
      if (!me.root()) {
        block.wait(me.parent);  // the result of this chunk is there
        block.copy(part, buffers.out(me.parent), buffers.out(team.rank));
      }
      for_each_child(me, [&](int child) { block.notify(child); });
    }
  }
};

}  // namespace attune::variants
