#pragma once
/// Packs on host: one cache line (64 bytes) of elements, held in vector registers of the instruction set that
/// the translation unit is compiled for. A pack of T and the pack of its accumulators have the same lanes, cut
/// in parts of one accumulator register each; so widening never crosses a part.
///
/// Arithmetic on whole packs: `widen`, `narrow<T>` here, and the operations of device/ops.h.
#include <cstring>
#include <type_traits>

#include "core/annotations.h"
#include "core/floats.h"
#if defined(__F16C__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace attune {

inline constexpr int host_pack_bytes = 64;
template <class T>
inline constexpr int host_lanes = host_pack_bytes / static_cast<int>(sizeof(T));

namespace detail {
template <class E, int Lanes>
struct VectorType {
  typedef E type __attribute__((vector_size(Lanes * sizeof(E))));
};
template <class E, int Lanes>
using Vector = typename VectorType<E, Lanes>::type;
template <int Size>
using UnsignedOf = std::conditional_t<
    Size == 1, std::uint8_t,
    std::conditional_t<Size == 2, std::uint16_t, std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;
}  // namespace detail

/// `Parts` vectors of `Lanes` elements.
template <class T, int Lanes, int Parts>
struct Pack {
  using Element = T;
  using Part = detail::Vector<Storage<T>, Lanes>;
  static constexpr int lanes_per_part = Lanes;
  static constexpr int parts = Parts;
  static constexpr int lanes = Lanes * Parts;
  Part part[Parts];
};

/// The pack of T on registers of `Native` bytes.
template <class T, int Native>
using HostPack = Pack<T, Native / static_cast<int>(sizeof(Accumulator<T>)),
                      host_lanes<T> / (Native / static_cast<int>(sizeof(Accumulator<T>)))>;

/// Applies f to every part.
template <class R, class F, class... P>
requires requires { R::parts; }
ATTUNE_DEVICE R map_parts(F f, const P&... packs) {
  R result;
#pragma GCC unroll 16
  for (int k = 0; k < R::parts; ++k) result.part[k] = f(packs.part[k]...);
  return result;
}

namespace detail {

template <int L>
ATTUNE_DEVICE Vector<std::uint32_t, L> choose(Vector<std::uint32_t, L> mask, Vector<std::uint32_t, L> yes,
                                              Vector<std::uint32_t, L> no) {
  return mask ? yes : no;
}

/// f16 and f8, lane-wise: subnormals come out right because the product is exact.
template <class T, int L>
ATTUNE_DEVICE Vector<float, L> widen_small(Vector<Storage<T>, L> v) {
  using U = Vector<std::uint32_t, L>;
  using F = Vector<float, L>;
  using S = SmallFloat<T>;
  constexpr int width = 1 + S::exponent_bits + S::mantissa_bits;
  constexpr std::uint32_t bias = (1 << (S::exponent_bits - 1)) - 1;
  constexpr int shift = 23 - S::mantissa_bits;
  constexpr std::uint32_t special =
      S::has_infinity ? ((1U << S::exponent_bits) - 1) << S::mantissa_bits : (1U << (width - 1)) - 1;
  const U bits = __builtin_convertvector(v, U);
  const U sign = (bits >> (width - 1)) << 31;
  const U magnitude = bits & ((1U << (width - 1)) - 1);
  const F scaled = (F)(magnitude << shift) * std::bit_cast<float>((127 + 127 - bias) << 23);
  const U special_bits = 0x7F800000U | (magnitude << shift);
  return (F)(choose<L>((U)(magnitude >= special), special_bits, (U)scaled) | sign);
}

/// 16-bit lanes zero-extended, and 32-bit lanes of which the upper half is zero cut to 16 bits. Compilers do the first
/// in two halves and mask before the second, which costs bf16 half its speed.
template <int L>
ATTUNE_DEVICE Vector<std::uint32_t, L> extend(Vector<std::uint16_t, L> v) {
#if defined(__AVX2__)
  if constexpr (L == 8) return (Vector<std::uint32_t, L>)_mm256_cvtepu16_epi32((__m128i)v);
#endif
  return __builtin_convertvector(v, Vector<std::uint32_t, L>);
}
template <int L>
ATTUNE_DEVICE Vector<std::uint16_t, L> cut(Vector<std::uint32_t, L> v) {
#if defined(__AVX2__)
  if constexpr (L == 8) {
    const auto whole = (__m256i)v;
    return (Vector<std::uint16_t, L>)_mm_packus_epi32(_mm256_castsi256_si128(whole),
                                                      _mm256_extracti128_si256(whole, 1));
  }
#endif
  return __builtin_convertvector(v, Vector<std::uint16_t, L>);
}

/// One part, exactly widened to its accumulator: the lane-wise form of core/floats.h.
template <class T, int L>
ATTUNE_DEVICE Vector<Accumulator<T>, L> widen_part(Vector<Storage<T>, L> v) {
  if constexpr (!NarrowFloat<T>) {
    return v;
  } else if constexpr (std::is_same_v<T, bf16>) {
    return (Vector<float, L>)(extend<L>(v) << 16);
  } else {
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, f16> && L == 8) return (Vector<float, L>)_mm256_cvtph_ps((__m128i)v);
#endif
    return widen_small<T, L>(v);
  }
}

template <class T, int L>
ATTUNE_DEVICE Vector<Storage<T>, L> narrow_small(Vector<float, L> v) {
  using U = Vector<std::uint32_t, L>;
  using F = Vector<float, L>;
  using S = SmallFloat<T>;
  constexpr int width = 1 + S::exponent_bits + S::mantissa_bits;
  constexpr std::uint32_t bias = (1 << (S::exponent_bits - 1)) - 1;
  constexpr int drop = 23 - S::mantissa_bits;
  constexpr std::uint32_t infinity = ((1U << S::exponent_bits) - 1) << S::mantissa_bits;
  constexpr std::uint32_t nan =
      S::has_infinity ? infinity | (1U << (S::mantissa_bits - 1)) : infinity | ((1U << S::mantissa_bits) - 1);
  constexpr std::uint32_t largest = S::has_infinity ? infinity - 1 : nan - 1;
  constexpr std::uint32_t magic = (127 + 1 - bias + drop) << 23;
  const U bits = (U)v;
  const U sign = (bits >> 31) << (width - 1);
  const U magnitude = bits & 0x7FFFFFFFU;
  const U small = (U)((F)magnitude + std::bit_cast<float>(magic)) - magic;
  const U normal = (magnitude - ((127 - bias) << 23) + ((1U << (drop - 1)) - 1) + ((magnitude >> drop) & 1U)) >> drop;
  U result = choose<L>((U)(magnitude < ((127 + 1 - bias) << 23)), small, normal);
  result = choose<L>((U)(result > largest), U{} + (S::saturates ? largest : infinity), result) | sign;
  result = choose<L>((U)(magnitude > 0x7F800000U), U{} + nan, result);
  return __builtin_convertvector(result, Vector<Storage<T>, L>);
}

/// One part, rounded to nearest even: the lane-wise form of core/floats.h.
template <class T, int L>
ATTUNE_DEVICE Vector<Storage<T>, L> narrow_part(Vector<Accumulator<T>, L> v) {
  if constexpr (!NarrowFloat<T>) {
    return v;
  } else if constexpr (std::is_same_v<T, bf16>) {
    using U = Vector<std::uint32_t, L>;
    const U bits = (U)v;
    const U rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
    const U is_nan = (U)(v != v);
    return cut<L>(choose<L>(is_nan, U{} + 0x7FC00000U, rounded) >> 16);
  } else {
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, f16> && L == 8) {
      using U = Vector<std::uint32_t, L>;
      const U canonical = choose<L>((U)(v != v), U{} + 0x7FC00000U, (U)v);
      return (Vector<std::uint16_t, L>)_mm256_cvtps_ph((__m256)canonical, _MM_FROUND_TO_NEAREST_INT);
    }
#endif
    return narrow_small<T, L>(v);
  }
}
}  // namespace detail

/// Elements in their accumulators.
template <class T, int L, int P>
ATTUNE_DEVICE Pack<Accumulator<T>, L, P> widen(const Pack<T, L, P>& pack) {
  return map_parts<Pack<Accumulator<T>, L, P>>(
      [](auto part) __attribute__((always_inline)) { return detail::widen_part<T, L>(part); }, pack);
}

/// Accumulators rounded to elements.
template <class T, int L, int P>
ATTUNE_DEVICE Pack<T, L, P> narrow(const Pack<Accumulator<T>, L, P>& pack) {
  return map_parts<Pack<T, L, P>>(
      [](auto part) __attribute__((always_inline)) { return detail::narrow_part<T, L>(part); }, pack);
}

/// Calls f(lane, value) → value on every lane; for epilogues that look at the position.
template <class A, int L, int P, class F>
ATTUNE_DEVICE Pack<A, L, P> map_lanes(const Pack<A, L, P>& pack, F f) {
  A lane[L * P];
  std::memcpy(lane, pack.part, sizeof lane);
  for (int k = 0; k < L * P; ++k) lane[k] = f(k, lane[k]);
  Pack<A, L, P> result;
  std::memcpy(result.part, lane, sizeof lane);
  return result;
}

}  // namespace attune
