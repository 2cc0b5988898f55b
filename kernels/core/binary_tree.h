#pragma once
/// Two binary trees over the ranks that complement each other: who is a leaf of one has children in the other, so that
/// with half a message on each every rank does about the same work (Sanders, Speck, Träff 2009).
#include "core/annotations.h"

namespace attune {

/// A rank's place in a tree; -1 = nobody.
struct TreePlace {
  int parent = -1;
  int children[2] = {-1, -1};
  [[nodiscard]] ATTUNE_BOTH constexpr bool root() const { return parent < 0; }
  [[nodiscard]] ATTUNE_BOTH constexpr bool leaf() const { return children[0] < 0 && children[1] < 0; }
};

namespace detail {
/// The in-order tree over 0 … n-1: a number's height is its count of trailing zero bits, odd numbers are leaves, and 0
/// is the root, above the largest power of two. A node that would lie beyond n-1 is left out, its child moves up.
[[nodiscard]] ATTUNE_BOTH constexpr TreePlace in_order_place(int at, int n) {
  TreePlace place;
  int below = 1;
  if (at == 0) {
    while (below + below < n) below += below;
  } else {
    const int height = at & -at;
    place.parent = (at ^ height) | (height << 1);
    if (place.parent >= n) place.parent = at ^ height;
    below = height >> 1;
    if (below > 0) place.children[0] = at - below;
  }
  while (below > 0 && at + below >= n) below >>= 1;
  if (below > 0) place.children[1] = at + below;
  return place;
}
/// Who stands at a node of tree 1.
[[nodiscard]] ATTUNE_BOTH constexpr int rank_at(int at, int ranks) {
  if (at < 0) return at;
  if ((ranks & 1) == 0) return ranks - 1 - at;
  return at + 1 == ranks ? 0 : at + 1;
}
}  // namespace detail

/// Rank's place in tree 0, or in tree 1: tree 0 mirrored (an even count of ranks), or shifted by one (an odd count).
[[nodiscard]] ATTUNE_BOTH constexpr TreePlace place_in_tree(int rank, int ranks, int tree) {
  if (tree == 0) return detail::in_order_place(rank, ranks);
  const bool even = (ranks & 1) == 0;
  const int at = even ? ranks - 1 - rank : (rank == 0 ? ranks : rank) - 1;
  TreePlace place = detail::in_order_place(at, ranks);
  place.parent = detail::rank_at(place.parent, ranks);
  place.children[0] = detail::rank_at(place.children[0], ranks);
  place.children[1] = detail::rank_at(place.children[1], ranks);
  return place;
}

}  // namespace attune
