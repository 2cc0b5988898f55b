#pragma once
/// The vocabulary on host: a block is one thread of the rank. See README.md of this folder for the words.
#include <array>
#include <cstdint>
#include <cstring>

#include "core/partition.h"
#include "device/host_memory.h"
#include "device/ops.h"
#include "device/pack.h"
#include "device/team.h"

namespace attune::host {

/// The instruction sets that kernels are compiled for: bytes of a vector register, and whether sums are compiled in
/// full (not for x86-64 of before 2013, which has to do with the general kernels).
namespace isa {
struct baseline {
  static constexpr int native = 16;
#if defined(__x86_64__) && !defined(ATTUNE_ONE_ISA)
  static constexpr bool compiles_sums = false;
#else
  static constexpr bool compiles_sums = true;
#endif
};
struct avx2 {
  static constexpr int native = 32;
  static constexpr bool compiles_sums = true;
};
}  // namespace isa

/// The position of a whole pack: its width is a constant, so the loop over it is vector loads and stores.
/// `Streaming` stores to outputs go past the cache; `past_cache`: what is sent does.
template <class Isa, class T, bool Streaming>
struct Full {
  using isa = Isa;
  static constexpr bool whole = true;
  static constexpr bool streaming = Streaming;
  static constexpr int lanes = host_lanes<T>;
  Index first;
  bool past_cache;
};
/// The position of the one incomplete pack at the end of a message: loads fill the missing lanes with zero,
/// stores leave memory behind the last lane alone.
template <class Isa, class T>
struct Tail {
  using isa = Isa;
  static constexpr bool whole = false;
  static constexpr bool streaming = false;
  Index first;
  int lanes;
};

#if defined(__SSE2__)
namespace detail {
template <int Bytes>
using Word = attune::detail::Vector<long long, Bytes / 8>;
/// A store past the cache, to a multiple of the word's size.
ATTUNE_DEVICE void stream_word(Word<16>* to, Word<16> word) {
#ifdef __clang__
  __builtin_nontemporal_store(word, to);
#else
  __builtin_ia32_movntdq(to, word);
#endif
}
#if defined(__AVX__)
ATTUNE_DEVICE void stream_word(Word<32>* to, Word<32> word) {
#ifdef __clang__
  __builtin_nontemporal_store(word, to);
#else
  __builtin_ia32_movntdq256(to, word);
#endif
}
#endif
}  // namespace detail
#endif

/// What a view holds: outputs may be stored past the cache, scratch never (it is read again at once).
enum class Role { input, output, scratch };

/// One rank's memory as a block sees it: loads and stores of packs at a position.
template <class T, Role role>
struct View {
  T* data;

  /// An input may be read where scratch is.
  [[nodiscard]] ATTUNE_DEVICE operator View<T, Role::scratch>() const  // NOLINT(google-explicit-constructor)
      requires(role == Role::input) {
    return {data};
  }
  /// The same memory, taken to hold a message's elements from `first` on.
  [[nodiscard]] ATTUNE_DEVICE View from(Index first) const { return {data - first}; }

  template <class I>
  ATTUNE_DEVICE auto load(const I& i) const {
    using P = HostPack<T, I::isa::native>;
    P pack;
    constexpr int width = P::lanes_per_part;
    if constexpr (I::whole) {
#pragma GCC unroll 16
      for (int k = 0; k < P::parts; ++k) std::memcpy(&pack.part[k], data + i.first + k * width, sizeof pack.part[k]);
#if defined(__AVX2__)
    } else if constexpr (sizeof pack.part[0] == 32 && sizeof(T) >= 4) {
#pragma GCC unroll 16
      for (int k = 0; k < P::parts; ++k)
        pack.part[k] = load_lanes<typename P::Part>(data + i.first + k * width, i.lanes - k * width);
#endif
    } else {
      T lane[P::lanes]{};
      std::memcpy(lane, data + i.first, static_cast<std::size_t>(i.lanes) * sizeof(T));
      for (int k = 0; k < P::parts; ++k) std::memcpy(&pack.part[k], lane + k * width, sizeof pack.part[k]);
    }
    return pack;
  }

  template <class I, int L, int P>
  ATTUNE_DEVICE void store(const I& i, const Pack<T, L, P>& pack) const {
    if constexpr (I::streaming && role == Role::output) {
      stream(data + i.first, pack);
    } else if constexpr (I::whole) {
#pragma GCC unroll 16
      for (int k = 0; k < P; ++k) std::memcpy(data + i.first + k * L, &pack.part[k], sizeof pack.part[k]);
    } else {
      std::memcpy(data + i.first, &pack.part, static_cast<std::size_t>(i.lanes) * sizeof(T));
    }
  }

  /// A store to memory that a peer will read: past the cache or through it, as the launch says
  /// (runtime/store_trial.h). Packs start at multiples of 16 bytes; `block.drain()` comes before the flag that
  /// announces them.
  template <class I, int L, int P>
  ATTUNE_DEVICE void send(const I& i, const Pack<T, L, P>& pack) const {
    if constexpr (I::whole) {
      if (i.past_cache) return stream(data + i.first, pack);
#pragma GCC unroll 16
      for (int k = 0; k < P; ++k) std::memcpy(data + i.first + k * L, &pack.part[k], sizeof pack.part[k]);
    } else {
      store(i, pack);
    }
  }

 private:
#if defined(__SSE2__)
  template <int Bytes, int L, int P>
  ATTUNE_DEVICE static void stream_by(T* to, const Pack<T, L, P>& pack) {
    detail::Word<Bytes> word[host_pack_bytes / Bytes];
    std::memcpy(word, &pack, sizeof word);
#pragma GCC unroll 4
    for (int k = 0; k < host_pack_bytes / Bytes; ++k)
      detail::stream_word(reinterpret_cast<detail::Word<Bytes>*>(to) + k, word[k]);
  }
#endif

#if defined(__AVX2__)
  /// The first lanes of a part, zeros behind them; no memory behind them is read. Through a buffer it takes five times
  /// as long, which small messages notice.
  template <class Part>
  ATTUNE_DEVICE static Part load_lanes(const T* from, int lanes) {
    if constexpr (sizeof(T) == 4) {
      const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
      return (Part)_mm256_maskload_epi32(reinterpret_cast<const int*>(from), mask);
    } else {
      const __m256i mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(lanes), _mm256_setr_epi64x(0, 1, 2, 3));
      return (Part)_mm256_maskload_epi64(reinterpret_cast<const long long*>(from), mask);
    }
  }
#endif

  template <int L, int P>
  ATTUNE_DEVICE static void stream(T* to, const Pack<T, L, P>& pack) {
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)  // sanitizers do not see these stores
#if defined(__AVX__)
    if constexpr (sizeof pack.part[0] == 32) {  // smaller parts would meet in memory
      if (reinterpret_cast<std::uintptr_t>(to) % 32 == 0) return stream_by<32>(to, pack);  // a quarter less time
    }
#endif
    stream_by<16>(to, pack);
#else
    std::memcpy(to, &pack, sizeof pack);
#endif
  }
};

/// Scratch that holds a message's partial sums, in their accumulators: never past the cache, a peer reads them at once.
template <class T>
struct Partials {
  Accumulator<T>* data;

  template <class I>
  ATTUNE_DEVICE auto load(const I& i) const {
    decltype(widen(HostPack<T, I::isa::native>{})) pack;
    if constexpr (I::whole) {
#pragma GCC unroll 16
      for (int k = 0; k < pack.parts; ++k)
        std::memcpy(&pack.part[k], data + i.first + k * pack.lanes_per_part, sizeof pack.part[k]);
    } else {
      Accumulator<T> lane[pack.lanes]{};
      std::memcpy(lane, data + i.first, static_cast<std::size_t>(i.lanes) * sizeof lane[0]);
      std::memcpy(&pack.part, lane, sizeof lane);
    }
    return pack;
  }
  ATTUNE_DEVICE void store(const auto& i, const auto& pack) const {
    View<Accumulator<T>, Role::scratch>{data}.store(i, pack);
  }
};

/// Base addresses of every rank's buffers, in this process. Filled as peers are heard from.
struct Addresses {
  std::array<std::byte*, max_ranks> in{};
  std::array<std::byte*, max_ranks> out{};
  std::array<std::byte*, max_ranks> second_out{};
  std::array<std::byte*, max_ranks> scratch{};
  std::array<std::byte*, max_ranks> inbox{};
};

/// The buffers of one call. A peer's `in` and `out` are known from the first wait for that peer on.
template <class T>
struct Buffers {
  Index count;  ///< Elements of the message.
  Index chunk;  ///< Elements of a pipelining step; at least a pack.
  const Addresses& at;
  [[nodiscard]] ATTUNE_DEVICE View<T, Role::input> in(int rank) const {
    return {reinterpret_cast<T*>(at.in[static_cast<std::size_t>(rank)])};
  }
  [[nodiscard]] ATTUNE_DEVICE View<T, Role::output> out(int rank) const {
    return {reinterpret_cast<T*>(at.out[static_cast<std::size_t>(rank)])};
  }
  [[nodiscard]] ATTUNE_DEVICE View<T, Role::scratch> scratch(int rank) const {
    return {reinterpret_cast<T*>(at.scratch[static_cast<std::size_t>(rank)])};
  }
  /// The same memory for accumulators, at the positions of the message.
  [[nodiscard]] ATTUNE_DEVICE Partials<T> partials(int rank) const {
    return {reinterpret_cast<Accumulator<T>*>(at.scratch[static_cast<std::size_t>(rank)])};
  }
  /// A region that peers push into before any barrier, and that nobody reads once its owner's launch has ended.
  [[nodiscard]] ATTUNE_DEVICE View<T, Role::scratch> inbox(int rank) const {
    return {reinterpret_cast<T*>(at.inbox[static_cast<std::size_t>(rank)])};
  }
};

/// The messages of one in-band call, mine included, as a block has taken them: `in(rank)` is what rank has posted.
template <class T>
struct Letters {
  std::array<T*, max_ranks> at;
  [[nodiscard]] ATTUNE_DEVICE View<T, Role::scratch> in(int rank) const { return {at[static_cast<std::size_t>(rank)]}; }
};

}  // namespace attune::host
