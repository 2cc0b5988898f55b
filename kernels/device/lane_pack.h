#pragma once
/// Packs of plain lanes, for devices whose threads hold elements in scalar registers. Arithmetic is that of
/// device/pack.h to the bit: `widen`, `narrow<T>`, `map_parts` and `map_lanes` mean the same on both.
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/annotations.h"
#include "core/floats.h"
#include "device/unroll.h"

namespace attune {

/// `Lanes` elements. Narrow ones lie in words of 32 bits, four or two in each, and are taken out where they are used:
/// as lanes of their own they would take a register each. All loops over lanes have constant bounds, so that packs
/// never leave the registers.
template <class T, int Lanes>
struct LanePack {
  using Element = T;
  static constexpr int lanes = Lanes;
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr bool in_words = size < 4 && Lanes * size % 4 == 0;
  static constexpr int per_word = in_words ? 4 / size : 1;
  using Word = std::conditional_t<in_words, std::uint32_t, T>;
  Word word[Lanes / per_word];

  [[nodiscard]] ATTUNE_DEVICE T get(int k) const {
    if constexpr (in_words) {
      using Bits = std::conditional_t<size == 1, std::uint8_t, std::uint16_t>;
      return std::bit_cast<T>(static_cast<Bits>(word[k / per_word] >> (8 * size * (k % per_word))));
    } else {
      return word[k];
    }
  }
  /// The pack of f(0), f(1), …
  template <class F>
  [[nodiscard]] ATTUNE_DEVICE static LanePack make(F f) {
    LanePack pack;
    ATTUNE_UNROLL
    for (int w = 0; w < Lanes / per_word; ++w) {
      if constexpr (in_words) {
        using Bits = std::conditional_t<size == 1, std::uint8_t, std::uint16_t>;
        pack.word[w] = 0;
        ATTUNE_UNROLL
        for (int k = 0; k < per_word; ++k)
          pack.word[w] |= static_cast<std::uint32_t>(std::bit_cast<Bits>(f(w * per_word + k))) << (8 * size * k);
      } else {
        pack.word[w] = f(w);
      }
    }
    return pack;
  }
};

/// Applies f to every lane.
template <class R, class F, class... T, int L>
requires requires { R::in_words; }
ATTUNE_DEVICE R map_parts(F f, const LanePack<T, L>&... packs) {
  return R::make([&](int k) { return static_cast<typename R::Element>(f(packs.get(k)...)); });
}

/// Calls f(lane, value) → value on every lane.
template <class A, int L, class F>
ATTUNE_DEVICE LanePack<A, L> map_lanes(const LanePack<A, L>& pack, F f) {
  return LanePack<A, L>::make([&](int k) { return static_cast<A>(f(k, pack.get(k))); });
}

/// Elements in their accumulators. Devices whose hardware converts bring a `Conversion` of their own.
template <class T, int L>
struct Conversion {
  ATTUNE_DEVICE static LanePack<Accumulator<T>, L> widen(const LanePack<T, L>& pack) {
    return map_parts<LanePack<Accumulator<T>, L>>([](T x) { return widen_one(x); }, pack);
  }
  ATTUNE_DEVICE static LanePack<T, L> narrow(const LanePack<Accumulator<T>, L>& pack) {
    return map_parts<LanePack<T, L>>([](Accumulator<T> x) { return narrow_one<T>(x); }, pack);
  }
};

template <class T, int L>
ATTUNE_DEVICE LanePack<Accumulator<T>, L> widen(const LanePack<T, L>& pack) {
  return Conversion<T, L>::widen(pack);
}
/// Accumulators rounded to elements.
template <class T, int L>
ATTUNE_DEVICE LanePack<T, L> narrow(const LanePack<Accumulator<T>, L>& pack) {
  return Conversion<T, L>::narrow(pack);
}

namespace detail {
/// The unsigned integer in which integers of A wrap: never narrower than unsigned int, which C++ would promote to int.
template <class A>
using WrapsIn = std::conditional_t<(sizeof(A) > sizeof(unsigned)), unsigned long long, unsigned>;

template <class A>
[[nodiscard]] ATTUNE_DEVICE A sum_one(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<WrapsIn<A>>(a) + static_cast<WrapsIn<A>>(b));
  else
    return a + b;
}
template <class A>
[[nodiscard]] ATTUNE_DEVICE A product_one(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<WrapsIn<A>>(a) * static_cast<WrapsIn<A>>(b));
  else
    return a * b;
}
/// NaN wins and comes out canonical, −0 is less than +0.
template <bool Least, class A>
[[nodiscard]] ATTUNE_DEVICE A extreme_one(A a, A b) {
  const A picked = (Least ? a < b : a > b) ? a : b;
  if constexpr (std::is_integral_v<A>) {
    return picked;
  } else {
    using Bits = std::conditional_t<sizeof(A) == 4, std::uint32_t, std::uint64_t>;
    const Bits x = std::bit_cast<Bits>(a);
    const Bits y = std::bit_cast<Bits>(b);
    const A ordered = a == b ? std::bit_cast<A>(Least ? x | y : x & y) : picked;
    return a != a || b != b ? std::numeric_limits<A>::quiet_NaN() : ordered;
  }
}
}  // namespace detail

}  // namespace attune
