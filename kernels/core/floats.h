#pragma once
/// Storage types of the narrow floats, their scalar conversions, and what each element type is summed in.
/// Conversions round to nearest even. f16 and bf16 overflow to infinity; f8 SATURATES to the largest finite
/// value (e4m3 has no infinity; e5m2 follows the same rule, as the OCP 8-bit specification recommends for
/// sums), infinities included. NaN stays NaN (quiet, one canonical pattern).
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/annotations.h"
#include "core/types.h"

namespace attune {

struct f16 {
  std::uint16_t bits;
  friend constexpr bool operator==(f16, f16) = default;
};
struct bf16 {
  std::uint16_t bits;
  friend constexpr bool operator==(bf16, bf16) = default;
};
struct f8e4m3 {
  std::uint8_t bits;
  friend constexpr bool operator==(f8e4m3, f8e4m3) = default;
};
struct f8e5m2 {
  std::uint8_t bits;
  friend constexpr bool operator==(f8e5m2, f8e5m2) = default;
};

/// The widths of a small float format that is not f32.
template <class T>
struct SmallFloat;
template <>
struct SmallFloat<f16> {
  static constexpr int exponent_bits = 5, mantissa_bits = 10;
  static constexpr bool saturates = false, has_infinity = true;
};
template <>
struct SmallFloat<f8e5m2> {
  static constexpr int exponent_bits = 5, mantissa_bits = 2;
  static constexpr bool saturates = true, has_infinity = true;
};
template <>
struct SmallFloat<f8e4m3> {
  static constexpr int exponent_bits = 4, mantissa_bits = 3;
  static constexpr bool saturates = true, has_infinity = false;  // S.1111.111 is NaN, S.1111.110 is 448
};

template <class T>
concept NarrowFloat =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, f8e4m3> || std::is_same_v<T, f8e5m2>;

/// What an element type is accumulated in: 16- and 8-bit floats in f32, everything else in itself.
template <class T>
struct AccumulatorOf {
  using type = T;
};
template <NarrowFloat T>
struct AccumulatorOf<T> {
  using type = float;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::type;

/// How an element lies in a vector register.
template <class T>
struct StorageOf {
  using type = T;
};
template <>
struct StorageOf<f16> {
  using type = std::uint16_t;
};
template <>
struct StorageOf<bf16> {
  using type = std::uint16_t;
};
template <>
struct StorageOf<f8e4m3> {
  using type = std::uint8_t;
};
template <>
struct StorageOf<f8e5m2> {
  using type = std::uint8_t;
};
template <class T>
using Storage = typename StorageOf<T>::type;

/// Exact widening to f32.
[[nodiscard]] constexpr float to_float(bf16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }

template <class T>
requires requires { SmallFloat<T>::mantissa_bits; }
[[nodiscard]] constexpr float to_float(T value) {
  using F = SmallFloat<T>;
  constexpr int width = 1 + F::exponent_bits + F::mantissa_bits;
  constexpr int bias = (1 << (F::exponent_bits - 1)) - 1;
  constexpr std::uint32_t all_ones = (1U << F::exponent_bits) - 1;
  const std::uint32_t bits = value.bits;
  const std::uint32_t sign = (bits >> (width - 1)) << 31;
  const std::uint32_t exponent = (bits >> F::mantissa_bits) & all_ones;
  const std::uint32_t mantissa = bits & ((1U << F::mantissa_bits) - 1);
  const bool special = exponent == all_ones && (F::has_infinity || mantissa == (1U << F::mantissa_bits) - 1);
  if (special) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << (23 - F::mantissa_bits)));
  if (exponent == 0) {  // zero and subnormals: scale the integer mantissa
    const float magnitude = static_cast<float>(mantissa) *
                            std::bit_cast<float>(static_cast<std::uint32_t>(127 + 1 - bias - F::mantissa_bits) << 23);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | ((exponent + 127 - bias) << 23) | (mantissa << (23 - F::mantissa_bits)));
}

/// Rounding to nearest even.
template <class T>
[[nodiscard]] constexpr T from_float(float value);

template <>
[[nodiscard]] constexpr bf16 from_float<bf16>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {static_cast<std::uint16_t>(0x7FC0)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16)};
}

template <class T>
requires requires { SmallFloat<T>::mantissa_bits; }
[[nodiscard]] constexpr T small_from_float(float value) {
  using F = SmallFloat<T>;
  using Bits = decltype(T::bits);
  constexpr int width = 1 + F::exponent_bits + F::mantissa_bits;
  constexpr int bias = (1 << (F::exponent_bits - 1)) - 1;
  constexpr std::uint32_t infinity = ((1U << F::exponent_bits) - 1) << F::mantissa_bits;
  constexpr std::uint32_t not_a_number =
      F::has_infinity ? infinity | (1U << (F::mantissa_bits - 1)) : infinity | ((1U << F::mantissa_bits) - 1);
  constexpr std::uint32_t largest = F::has_infinity ? infinity - 1 : not_a_number - 1;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) << (width - 1);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return {static_cast<Bits>(not_a_number)};
  constexpr int drop = 23 - F::mantissa_bits;
  constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(127 + 1 - bias) << 23;
  std::uint32_t result = 0;
  if (magnitude < smallest_normal) {  // adding this power of two leaves the rounded mantissa in the low bits
    constexpr std::uint32_t magic = static_cast<std::uint32_t>(127 + 1 - bias + drop) << 23;
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic)) - magic;
  } else {
    result = (magnitude - (static_cast<std::uint32_t>(127 - bias) << 23) + ((1U << (drop - 1)) - 1) +
              ((magnitude >> drop) & 1U)) >>
             drop;
  }
  if (result > largest) result = F::saturates ? largest : infinity;
  return {static_cast<Bits>(result | sign)};
}
template <>
[[nodiscard]] constexpr f16 from_float<f16>(float value) {
  return small_from_float<f16>(value);
}
template <>
[[nodiscard]] constexpr f8e4m3 from_float<f8e4m3>(float value) {
  return small_from_float<f8e4m3>(value);
}
template <>
[[nodiscard]] constexpr f8e5m2 from_float<f8e5m2>(float value) {
  return small_from_float<f8e5m2>(value);
}

/// One element in its accumulator, and back.
template <class T>
[[nodiscard]] constexpr Accumulator<T> widen_one(T value) {
  if constexpr (NarrowFloat<T>)
    return to_float(value);
  else
    return value;
}
template <class T>
[[nodiscard]] constexpr T narrow_one(Accumulator<T> value) {
  if constexpr (NarrowFloat<T>)
    return from_float<T>(value);
  else
    return value;
}

/// The C++ type of a dtype, both ways.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<f16> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<f8e4m3> {
  static constexpr DType value = DType::f8e4m3;
};
template <>
struct DTypeOf<f8e5m2> {
  static constexpr DType value = DType::f8e5m2;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr DType value = DType::u64;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

/// The one switch from value to type: calls `f.template operator()<T>()`.
template <class F>
decltype(auto) with_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::f16:
      return f.template operator()<f16>();
    case DType::bf16:
      return f.template operator()<bf16>();
    case DType::f8e4m3:
      return f.template operator()<f8e4m3>();
    case DType::f8e5m2:
      return f.template operator()<f8e5m2>();
    case DType::i8:
      return f.template operator()<std::int8_t>();
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::u32:
      return f.template operator()<std::uint32_t>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::u64:
      break;
  }
  return f.template operator()<std::uint64_t>();
}

}  // namespace attune
