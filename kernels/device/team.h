#pragma once
/// Who a block works with: its rank's place in the team. The rank count is a template parameter where peer loops
/// are unrolled (`Ranks > 0`), a run-time value otherwise (`Team<0>`). A team may fall into domains (sockets, or what
/// shares a last-level cache) of `near` consecutive ranks each; where it does not, all ranks are near.
#include "core/annotations.h"
#include "core/types.h"

namespace attune {

namespace detail {
template <class Self>
struct TeamWalk {
  /// The rank `distance` steps to the right of me, around the ring; |distance| ≤ ranks.
  [[nodiscard]] ATTUNE_BOTH constexpr int neighbour(int distance) const {
    const auto& self = static_cast<const Self&>(*this);
    int to = self.rank + distance;
    if (to < 0) to += self.ranks;
    if (to >= self.ranks) to -= self.ranks;
    return to;
  }
};
}  // namespace detail

template <int Ranks>
struct Team : detail::TeamWalk<Team<Ranks>> {
  int rank = 0;
  int near = Ranks;
  static constexpr int ranks = Ranks;
  ATTUNE_BOTH constexpr Team(int rank_, int /*ranks*/) : rank(rank_) {}
  ATTUNE_BOTH constexpr Team(int rank_, int /*ranks*/, int near_) : rank(rank_), near(near_) {}
};
template <>
struct Team<0> : detail::TeamWalk<Team<0>> {
  int rank = 0;
  int ranks = 1;
  int near = 1;
  ATTUNE_BOTH constexpr Team(int rank_, int ranks_) : Team(rank_, ranks_, ranks_) {}
  ATTUNE_BOTH constexpr Team(int rank_, int ranks_, int near_) : rank(rank_), ranks(ranks_), near(near_) {}
};

/// The ranks of my domain as a team of their own: my place among them. Its rank 0 is the team's `rank - place`.
template <int Ranks>
[[nodiscard]] ATTUNE_BOTH constexpr Team<0> domain_of(const Team<Ranks>& team) {
  int place = team.rank;
  while (place >= team.near) place -= team.near;
  return {place, team.near};
}

/// Calls f(rank) for every rank, myself included, from my right neighbour around to myself: so that not all
/// ranks fall on rank 0 first.
template <int Ranks, class F>
ATTUNE_DEVICE void for_each_rank(const Team<Ranks>& team, F f) {
  for (int distance = 1; distance <= team.ranks; ++distance) f(team.neighbour(distance));
}

/// Calls f(rank) for every rank but me, from my right neighbour on.
template <int Ranks, class F>
ATTUNE_DEVICE void for_each_peer(const Team<Ranks>& team, F f) {
  for (int distance = 1; distance < team.ranks; ++distance) f(team.neighbour(distance));
}

}  // namespace attune
