#pragma once
/// Views of all ranks, copied out of a launch's buffers. Inner loops work on such copies: a store might change
/// `buffers`, as far as a compiler knows, and would make it load every address anew for every pack, but no copy of it.
#include <array>
#include <cstddef>

#include "device/team.h"
#include "device/unroll.h"

namespace attune {

namespace detail {
template <int Ranks, class V>
using PerRank = std::array<V, static_cast<std::size_t>(Ranks > 0 ? Ranks : max_ranks)>;
}

/// What f(rank) gives for every rank, by rank.
template <int Ranks, class F>
ATTUNE_DEVICE auto by_rank(const Team<Ranks>& team, F f) {
  detail::PerRank<Ranks, decltype(f(0))> all{};
  ATTUNE_UNROLL
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank)
    if (rank < team.ranks) all[static_cast<std::size_t>(rank)] = f(rank);
  return all;
}

/// The same, but for me `mine`.
template <int Ranks, class F>
ATTUNE_DEVICE auto by_rank(const Team<Ranks>& team, F f, const auto& mine) {
  return by_rank(
      team, [&](int rank) __attribute__((always_inline)) {
        auto view = f(rank);
        if (rank == team.rank) view = mine;
        return view;
      });
}

/// The same from me around: [0] is mine, [1] my right neighbour's.
template <int Ranks, class F>
ATTUNE_DEVICE auto by_distance(const Team<Ranks>& team, F f) {
  detail::PerRank<Ranks, decltype(f(0))> all{};
  ATTUNE_UNROLL
  for (int step = 0; step < static_cast<int>(all.size()); ++step)
    if (step < team.ranks) all[static_cast<std::size_t>(step)] = f(team.neighbour(step));
  return all;
}

/// The op over the terms of all ranks (from by_rank) at position i, in rank order: the same bits wherever it is
/// computed.
template <int Ranks, class V, std::size_t N, class I, class O>
ATTUNE_DEVICE auto sum_over(const Team<Ranks>& team, const std::array<V, N>& terms, const I& i, O op) {
  auto sum = widen(terms[0].load(i));
#pragma GCC unroll 8
  for (int rank = 1; rank < team.ranks; ++rank) sum = op(sum, widen(terms[static_cast<std::size_t>(rank)].load(i)));
  return sum;
}

/// Stores a pack through my own view and sends it through every peer's (from by_distance).
template <int Ranks, class V, std::size_t N>
ATTUNE_DEVICE void send_to_all(const Team<Ranks>& team, const std::array<V, N>& views, const auto& i,
                               const auto& pack) {
  views[0].store(i, pack);
  ATTUNE_UNROLL
  for (int step = 1; step < static_cast<int>(N); ++step)
    if (step < team.ranks) views[static_cast<std::size_t>(step)].send(i, pack);
}

}  // namespace attune
