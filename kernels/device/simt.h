#pragma once
/// The vocabulary on the SIMT device: packs of 16 bytes, as a GPU loads them, and views that insist on alignment.
/// Arithmetic is that of device/pack.h and device/ops.h on narrower packs.
#include <cstdint>
#include <cstring>

#include "core/partition.h"
#include "device/ops.h"
#include "device/pack.h"
#include "device/simt_memory.h"
#include "device/team.h"

namespace attune::simt {

inline constexpr int pack_bytes = 16;
template <class T>
inline constexpr int lanes_of = pack_bytes / static_cast<int>(sizeof(T));
template <class T>
using SimtPack = Pack<T, lanes_of<T>, 1>;

/// The position of a whole pack at an aligned address.
template <class T>
struct Full {
  static constexpr bool whole = true;
  static constexpr int lanes = lanes_of<T>;
  Index first;
};
/// The position of an incomplete or unaligned pack: element by element.
template <class T>
struct Tail {
  static constexpr bool whole = false;
  Index first;
  int lanes;
};

/// One rank's memory.
template <class T>
struct View {
  T* data;

  [[nodiscard]] View from(Index first) const { return {data - first}; }
  template <class I>
  SimtPack<T> load(const I& i) const {
    check(i);
    SimtPack<T> pack{};
    std::memcpy(&pack.part, data + i.first, static_cast<std::size_t>(i.lanes) * sizeof(T));
    return pack;
  }
  template <class I>
  void store(const I& i, const SimtPack<T>& pack) const {
    check(i);
    std::memcpy(data + i.first, &pack.part, static_cast<std::size_t>(i.lanes) * sizeof(T));
  }
  /// A store that a peer will read: the same here.
  template <class I>
  void send(const I& i, const SimtPack<T>& pack) const {
    store(i, pack);
  }

 private:
  template <class I>
  void check(const I& i) const {
    if (I::whole && reinterpret_cast<std::uintptr_t>(data + i.first) % pack_bytes != 0)
      throw Error(Status::internal, "the SIMT device: a whole pack at an address that 16 does not divide",
                  "a GPU would fault here");
  }
};

/// Scratch that holds a message's partial sums, in their accumulators.
template <class T>
struct Partials {
  Accumulator<T>* data;
  using Wide = Pack<Accumulator<T>, lanes_of<T>, 1>;

  template <class I>
  Wide load(const I& i) const {
    Wide pack{};
    std::memcpy(&pack.part, data + i.first, static_cast<std::size_t>(i.lanes) * sizeof(Accumulator<T>));
    return pack;
  }
  template <class I>
  void store(const I& i, const Wide& pack) const {
    std::memcpy(data + i.first, &pack.part, static_cast<std::size_t>(i.lanes) * sizeof(Accumulator<T>));
  }
};

template <class T>
struct Buffers {
  Index count;
  Index chunk;
  const Launch& launch;
  [[nodiscard]] View<T> in(int rank) const { return at(launch.in, rank); }
  [[nodiscard]] View<T> out(int rank) const { return at(launch.out, rank); }
  [[nodiscard]] View<T> scratch(int rank) const { return at(launch.scratch, rank); }
  [[nodiscard]] View<T> inbox(int rank) const { return at(launch.inbox, rank); }
  [[nodiscard]] Partials<T> partials(int rank) const {
    return {reinterpret_cast<Accumulator<T>*>(launch.scratch[static_cast<std::size_t>(rank)])};
  }

 private:
  [[nodiscard]] static View<T> at(const std::array<std::byte*, max_ranks>& base, int rank) {
    return {reinterpret_cast<T*>(base[static_cast<std::size_t>(rank)])};
  }
};

/// The messages of one in-band call.
template <class V>
struct Letters {
  std::array<V, max_ranks> at;
  [[nodiscard]] V in(int rank) const { return at[static_cast<std::size_t>(rank)]; }
};

/// The op over all ranks' inputs at position i, in rank order.
template <int Ranks, class B, class I, class O>
auto sum_in_rank_order(const Team<Ranks>& team, const B& buffers, const I& i, O op) {
  auto sum = widen(buffers.in(0).load(i));
  for (int rank = 1; rank < team.ranks; ++rank) sum = op(sum, widen(buffers.in(rank).load(i)));
  return sum;
}
template <int Ranks, class T, class I, class O>
auto sum_over(const Team<Ranks>& team, const Buffers<T>& buffers, const I& i, O op) {
  return sum_in_rank_order(team, buffers, i, op);
}
template <int Ranks, class V, class I, class O>
auto sum_over(const Team<Ranks>& team, const Letters<V>& letters, const I& i, O op) {
  return sum_in_rank_order(team, letters, i, op);
}

}  // namespace attune::simt
