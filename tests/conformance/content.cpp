#include "content.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/floats.h"
#include "random.h"

namespace attune::conformance {

namespace {

/// Largest m such that all sums of 8 integers of [-m, m] are exact in T.
template <class T>
constexpr int exact_range() {
  if constexpr (std::is_same_v<T, double>) return 1 << 30;
  if constexpr (std::is_same_v<T, float>) return 1 << 20;
  if constexpr (std::is_same_v<T, f16>) return 256;
  if constexpr (std::is_same_v<T, bf16>) return 32;
  if constexpr (std::is_same_v<T, f8e4m3>) return 2;
  return 1;
}

template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
constexpr bool is_float_type = NarrowFloat<T> || std::is_floating_point_v<T>;

/// An integer whose sums and products over 8 ranks stay within 8 bits.
template <class T>
T small_integer(Op op, int rank, std::uint64_t h) {
  if (op == Op::prod) return static_cast<T>(rank < 6 && h % 3 == 0 ? 2 : 1);
  return static_cast<T>(static_cast<int>(h % 16) - (std::is_signed_v<T> ? 8 : 0));
}

/// One element of a rank's input.
template <class T>
T element(const Content& content, int rank, Index i) {
  using A = Accumulator<T>;
  const std::uint64_t h = mix(content.seed + static_cast<std::uint64_t>(rank) * 0x10001, static_cast<std::uint64_t>(i));
  if constexpr (!is_float_type<T>) {
    return content.data == Data::finite ? small_integer<T>(content.op, rank, h) : from_bits<T>(h);
  } else {
    const bool extreme = content.op == Op::min || content.op == Op::max;
    if (extreme && content.data == Data::exact) return from_bits<T>(h);
    if (content.data == Data::random) {
      const double unit = static_cast<double>(h >> 11) * 0x1p-53;
      const double sign = (h & 1) != 0 ? -1 : 1;
      return narrow_one<T>(static_cast<A>(sign * (content.op == Op::prod ? 0.7 + 0.7 * unit : unit)));
    }
    if (content.op == Op::prod) {
      constexpr double powers[] = {1, -1, 2, -2, 0.5, -0.5};
      return narrow_one<T>(static_cast<A>(powers[h % 6]));
    }
    const auto range = static_cast<std::uint64_t>(exact_range<T>());
    const auto whole = static_cast<double>(h % (2 * range + 1)) - static_cast<double>(range);
    return narrow_one<T>(static_cast<A>(extreme && whole == 0 ? 1 : whole));
  }
}

template <class T>
T operand(const Content& content, Index i) {
  const auto whole = static_cast<int>(mix(content.seed ^ 0x0DE7A11, static_cast<std::uint64_t>(i)) % 3) - 1;
  return narrow_one<T>(static_cast<Accumulator<T>>(whole));
}

template <class A>
A wrapping(Op op, A a, A b) {
  using U = std::conditional_t<(sizeof(A) < 4), unsigned, std::make_unsigned_t<A>>;
  return static_cast<A>(op == Op::prod ? static_cast<U>(a) * static_cast<U>(b) : static_cast<U>(a) + static_cast<U>(b));
}

template <class A>
A combine(Op op, A a, A b) {
  if (op == Op::min || op == Op::max) {
    if constexpr (std::is_floating_point_v<A>) {
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<A>::quiet_NaN();
      if (a == b) return (op == Op::min) == std::signbit(a) ? a : b;
    }
    return (op == Op::min) == (a < b) ? a : b;
  }
  if constexpr (std::is_integral_v<A>) {
    return wrapping(op, a, b);
  } else {
    return op == Op::prod ? a * b : a + b;
  }
}

/// Division of avg and epilogue, in the accumulator.
template <class T>
Accumulator<T> finish(const Content& content, const EpilogueSpec& epilogue, Index i, Accumulator<T> value) {
  using A = Accumulator<T>;
  if (content.op == Op::avg) value = static_cast<A>(value / static_cast<A>(content.ranks));
  switch (epilogue.kind) {
    case EpilogueKind::none:
      return value;
    case EpilogueKind::scale:
      if constexpr (std::is_floating_point_v<A>) return value * static_cast<A>(epilogue.scale);
      return static_cast<A>(static_cast<double>(value) * epilogue.scale);
    case EpilogueKind::relu:
      return value < A{} ? A{} : value;
    case EpilogueKind::bias:
    case EpilogueKind::residual:
      break;
  }
  const Index at = epilogue.kind == EpilogueKind::bias ? i % epilogue.cols : i;
  const A term = widen_one<T>(static_cast<const T*>(epilogue.operand)[at]);
  if constexpr (std::is_integral_v<A>) return wrapping(Op::sum, value, term);
  return static_cast<A>(value + term);
}

template <class T>
T rank_order_element(const Content& content, const EpilogueSpec& epilogue, Index i) {
  auto sum = widen_one<T>(element<T>(content, 0, i));
  for (int rank = 1; rank < content.ranks; ++rank)
    sum = combine(content.op, sum, widen_one<T>(element<T>(content, rank, i)));
  return narrow_one<T>(finish<T>(content, epilogue, i, sum));
}

/// Half the distance between 1 and the next number of T.
template <class T>
constexpr double unit_roundoff() {
  if constexpr (std::is_same_v<T, double>) return 0x1p-53;
  if constexpr (std::is_same_v<T, float>) return 0x1p-24;
  if constexpr (std::is_same_v<T, bf16>) return 0x1p-8;
  if constexpr (requires { SmallFloat<T>::mantissa_bits; }) return 0.5 / (1 << SmallFloat<T>::mantissa_bits);
  return 0;
}
/// The smallest positive number of T.
template <class T>
double smallest() {
  return static_cast<double>(widen_one<T>(from_bits<T>(1)));
}

/// The result in extended precision and how far from it a variant may be.
struct Bounded {
  long double value = 0;
  long double error = 0;
};
template <class T>
Bounded bounded_element(const Content& content, const EpilogueSpec& epilogue, Numerics numerics, Index i) {
  constexpr double wide = unit_roundoff<Accumulator<T>>();
  constexpr double wire = unit_roundoff<T>();
  const bool product = content.op == Op::prod;
  long double value = product ? 1 : 0;
  long double size = value;
  for (int rank = 0; rank < content.ranks; ++rank) {
    const long double x = widen_one<T>(element<T>(content, rank, i));
    value = product ? value * x : value + x;
    size = product ? size * std::fabs(x) : size + std::fabs(x);
  }
  const bool once = numerics == Numerics::rank_order;
  const long double hop = once ? wide : wire + wide;
  long double error = size * std::expm1(content.ranks * std::log1p(hop)) + (once ? 0 : 8 * smallest<T>());
  if (content.op == Op::avg) {
    value /= content.ranks;
    error = error / content.ranks + wide * std::fabs(value);
  }
  if (epilogue.kind == EpilogueKind::scale) {
    value *= epilogue.scale;
    error *= std::fabs(epilogue.scale);
  } else if (epilogue.kind == EpilogueKind::relu) {
    value = value < 0 ? 0 : value;
  } else if (epilogue.kind != EpilogueKind::none) {
    const Index at = epilogue.kind == EpilogueKind::bias ? i % epilogue.cols : i;
    value += widen_one<T>(static_cast<const T*>(epilogue.operand)[at]);
  }
  error += (wire + 2 * wide) * (std::fabs(value) + error) + smallest<T>();
  return {value, error};
}

template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

}  // namespace

void fill(const Content& content, int rank, Index count, void* to) {
  with_dtype(content.dtype, [&]<class T>() {
    for (Index i = 0; i < count; ++i) static_cast<T*>(to)[i] = element<T>(content, rank, i);
  });
}

void fill_operand(const Content& content, Index count, void* to) {
  with_dtype(content.dtype, [&]<class T>() {
    for (Index i = 0; i < count; ++i) static_cast<T*>(to)[i] = operand<T>(content, i);
  });
}

void rank_order_result(const Content& content, const EpilogueSpec& epilogue, Index count, void* to) {
  with_dtype(content.dtype, [&]<class T>() {
    for (Index i = 0; i < count; ++i) static_cast<T*>(to)[i] = rank_order_element<T>(content, epilogue, i);
  });
}

std::string compare_bits(DType dtype, const void* got, const void* want, Index count) {
  const auto bytes = static_cast<std::size_t>(count * size_of(dtype));
  if (count == 0 || std::memcmp(got, want, bytes) == 0) return {};
  return with_dtype(dtype, [&]<class T>() -> std::string {
    for (Index i = 0; i < count; ++i) {
      const T g = static_cast<const T*>(got)[i];
      const T w = static_cast<const T*>(want)[i];
      if (bits_of(g) != bits_of(w))
        return fmt::format("index {}: got {} (0x{:x}), want {} (0x{:x})", i, static_cast<double>(widen_one<T>(g)),
                           bits_of(g), static_cast<double>(widen_one<T>(w)), bits_of(w));
    }
    return "?";
  });
}

std::string compare_with_bound(const Content& content, const EpilogueSpec& epilogue, Numerics numerics, const void* got,
                               Index count) {
  return with_dtype(content.dtype, [&]<class T>() -> std::string {
    if constexpr (is_float_type<T>) {
      for (Index i = 0; i < count; ++i) {
        const long double g = widen_one<T>(static_cast<const T*>(got)[i]);
        const Bounded want = bounded_element<T>(content, epilogue, numerics, i);
        if (!(std::fabs(g - want.value) <= want.error))
          return fmt::format("index {}: got {}, want {} +- {}", i, static_cast<double>(g),
                             static_cast<double>(want.value), static_cast<double>(want.error));
      }
    }
    return {};
  });
}

}  // namespace attune::conformance
