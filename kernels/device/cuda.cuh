#pragma once
/// The vocabulary on cuda: a block is a thread block of the rank's GPU. See README.md of this folder for the words.
/// Positions, views and buffers here; the block in cuda_block.cuh.
///
/// A whole pack is 16 bytes at an aligned address: one 128-bit access. Elements behind the last whole pack, and rows
/// that do not begin on a pack boundary, go one by one, each to a thread of its own, through positions of one lane: no
/// loop over a run-time number of lanes, which would put packs in local memory.
#include <bit>
#include <cstring>

#include "core/partition.h"
#include "device/cuda_floats.cuh"
#include "device/cuda_intrinsics.cuh"
#include "device/cuda_launch.h"
#include "device/ops.h"
#include "device/team.h"

namespace attune::cuda {

inline constexpr int pack_bytes = 16;
template <class T>
inline constexpr int lanes_of = pack_bytes / static_cast<int>(sizeof(T));

/// The position of a whole pack at an aligned address.
template <class T>
struct Full {
  static constexpr bool whole = true;
  static constexpr int lanes = lanes_of<T>;
  Index first;
};
/// The position of one element.
template <class T>
struct One {
  static constexpr bool whole = false;
  static constexpr int lanes = 1;
  Index first;
};

/// One rank's memory: loads and stores of packs at a position. Ordinary accesses; only flags order them.
template <class T>
struct View {
  T* data;

  /// The same memory, taken to hold a message's elements from `first` on.
  [[nodiscard]] ATTUNE_DEVICE View from(Index first) const { return {data - first}; }

  template <class Position>
  [[nodiscard]] ATTUNE_DEVICE LanePack<T, Position::lanes> load(const Position& i) const {
    if constexpr (Position::whole)
      return std::bit_cast<LanePack<T, Position::lanes>>(load_quad(data + i.first));
    else
      return {{data[i.first]}};
  }
  template <class Position>
  ATTUNE_DEVICE void store(const Position& i, const LanePack<T, Position::lanes>& pack) const {
    if constexpr (Position::whole)
      store_quad(data + i.first, std::bit_cast<Quad>(pack));
    else
      data[i.first] = pack.get(0);
  }
  /// A store of what a peer reads next. Here as any other.
  template <class Position>
  ATTUNE_DEVICE void send(const Position& i, const LanePack<T, Position::lanes>& pack) const {
    store(i, pack);
  }
};

/// What the threads of a block share: where the buffers are, and whether the launch has failed.
struct BlockMemory {
  std::byte* in[max_ranks];
  std::byte* out[max_ranks];
  std::byte* second_out[max_ranks];
  std::uint32_t failed;              ///< Set by a thread whose wait has failed; all leave the launch then.
  std::uint32_t mail_call;           ///< Number of this in-band launch, never 0.
  double partial[max_threads / 32];  ///< One per warp, of sum_of.
};

/// The buffers of one call. A peer's `in` and `out` are known from the first wait for that peer on.
template <class T>
struct Buffers {
  Index count;  ///< Elements of the message.
  Index chunk;  ///< Elements of a pipelining step; at least a pack.
  const Launch& launch;
  const BlockMemory& block;
  [[nodiscard]] ATTUNE_DEVICE View<T> in(int rank) const { return {reinterpret_cast<T*>(block.in[rank])}; }
  [[nodiscard]] ATTUNE_DEVICE View<T> out(int rank) const { return {reinterpret_cast<T*>(block.out[rank])}; }
  [[nodiscard]] ATTUNE_DEVICE View<T> scratch(int rank) const {
    return {reinterpret_cast<T*>(launch.at.scratch.at[rank])};
  }
  /// A region that peers push into before any barrier, and that nobody reads once its owner's launch has ended.
  [[nodiscard]] ATTUNE_DEVICE View<T> inbox(int rank) const { return {reinterpret_cast<T*>(launch.at.inbox.at[rank])}; }
};

template <class P>
[[nodiscard]] ATTUNE_DEVICE P keep_here(const P& pack) {
  if constexpr (sizeof(P) == sizeof(Quad))
    return std::bit_cast<P>(keep_here(std::bit_cast<Quad>(pack)));
  else
    return pack;
}

/// The op over the packs term(rank) of all ranks, in rank order. All loads are issued before the first result is used:
/// a peer's memory is a microsecond away. With a rank count at run time the loop still has a constant bound.
template <int Ranks, class Term, class O>
ATTUNE_DEVICE auto fold_in_rank_order(const Team<Ranks>& team, Term term, O op) {
  constexpr int most = Ranks > 0 ? Ranks : max_ranks;
  decltype(term(0)) pack[most];
  ATTUNE_UNROLL
  for (int rank = 0; rank < most; ++rank)
    if (rank < team.ranks) pack[rank] = term(rank);
  return with_op(op, [&](auto chosen) {
    auto sum = widen(keep_here(pack[0]));
    ATTUNE_UNROLL
    for (int rank = 1; rank < most; ++rank)
      if (rank < team.ranks) sum = chosen(sum, widen(keep_here(pack[rank])));
    return sum;
  });
}

/// The op over all ranks' inputs at position i, in rank order: the same bits wherever it is computed.
template <int Ranks, class T, class Position, class O>
ATTUNE_DEVICE auto sum_over(const Team<Ranks>& team, const Buffers<T>& buffers, const Position& i, O op) {
  return fold_in_rank_order(
      team, [&](int rank) { return buffers.in(rank).load(i); }, op);
}

}  // namespace attune::cuda
