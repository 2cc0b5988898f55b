#pragma once
/// What happens to a sum at the store. An epilogue is called as `epilogue(i, pack)` with the index of the pack
/// (`i.first` is the first element) and a pack of accumulators, once per element of the result, before it is
/// rounded to the element type.
#include <limits>

#include "core/floats.h"
#include "core/types.h"
#include "device/pack.h"

namespace attune {

/// The sum as it is.
struct NoEpilogue {
  template <class P>
  ATTUNE_DEVICE P operator()(const auto&, const P& sum) const {
    return sum;
  }
};

/// The division of `avg`: one correct rounding, in the accumulator; integers divide truncating. Kernels of sums take
/// NoEpilogue: asking for every pack whether to divide took longer than the sum.
struct Average {
  int divisor = 1;
  template <class P>
  ATTUNE_DEVICE P operator()(const auto&, const P& sum) const {
    if (divisor == 1) return sum;
    const auto by = static_cast<typename P::Element>(divisor);
    return map_parts<P>(
        [by](auto part) __attribute__((always_inline)) { return part / by; }, sum);
  }
  /// Sums that do not keep their lanes in order divide themselves.
  template <class S>
  requires(S::positionless) ATTUNE_DEVICE S operator()(const auto&, const S& sum) const {
    return divisor == 1 ? sum : sum.divided_by(divisor);
  }
};

/// Any functor (index, value) → value, element by element: `Elementwise{[](Index i, float x) { … }}`. It is called for
/// elements of the message alone, not for lanes behind the tail.
template <class F>
struct Elementwise {
  F function;
  Index base = 0;  ///< Position of the span's element 0 in the caller's message.
  template <class P>
  ATTUNE_DEVICE P operator()(const auto& i, const P& sum) const {
    const Index first = base + i.first;
    const int lanes = i.lanes;
    return map_lanes(sum, [&](int lane, auto value) {
      return lane < lanes ? static_cast<decltype(value)>(function(first + lane, value)) : value;
    });
  }
};
template <class F>
Elementwise(F) -> Elementwise<F>;

/// The division of `avg`, then the caller's functor.
template <class F>
struct CallerEpilogue {
  Average average;
  Elementwise<const F&> function;
  template <class P>
  ATTUNE_DEVICE P operator()(const auto& i, const P& sum) const {
    return function(i, average(i, sum));
  }
};

/// The prebuilt epilogues, chosen at run time, and the division of `avg` before them. Arithmetic is done in the
/// accumulator; integers divide truncating.
template <class T>
struct AnyEpilogue {
  EpilogueKind kind = EpilogueKind::none;
  int divisor = 1;             ///< Ranks for avg, else 1. A division, not a reciprocal: one correct rounding.
  double scale = 1;            ///< `scale` only.
  const T* operand = nullptr;  ///< `bias`: cols elements; `residual`: count elements.
  Index cols = 1;              ///< `bias`: element i gets operand[i mod cols].
  Index base = 0;              ///< Position of the span's element 0 in the caller's message.

  template <class V>
  ATTUNE_DEVICE V operator()(const auto& i, const V& sum) const {
    using A = typename V::Element;
    V value = sum;
    if (divisor != 1) {
      const A by = static_cast<A>(divisor);
      value = map_parts<V>(
          [by](auto part) __attribute__((always_inline)) { return part / by; }, value);
    }
    switch (kind) {
      case EpilogueKind::none:
        break;
      case EpilogueKind::scale: {
        const double by = scale;
        value = map_lanes(value, [by](int, A x) { return scaled(x, by); });
        break;
      }
      case EpilogueKind::bias:
        value = add_operand(value, i, (base + i.first) % cols, true);
        break;
      case EpilogueKind::residual:
        value = add_operand(value, i, base + i.first, false);
        break;
      case EpilogueKind::relu:
        value = map_lanes(value, [](int, A x) { return x < A{} ? A{} : x; });
        break;
    }
    return value;
  }

 private:
  /// Floats in their accumulator. Integers as doubles, truncated; what does not fit becomes the nearest limit, NaN 0.
  template <class A>
  ATTUNE_DEVICE static A scaled(A x, double by) {
    if constexpr (std::is_floating_point_v<A>) {
      return x * static_cast<A>(by);
    } else {
      using Limits = std::numeric_limits<A>;
      const double product = static_cast<double>(x) * by;
      if (product >= static_cast<double>(Limits::max())) return Limits::max();
      if (product <= static_cast<double>(Limits::min())) return Limits::min();
      return product == product ? static_cast<A>(product) : A{};
    }
  }

  template <class V>
  ATTUNE_DEVICE V add_operand(const V& value, const auto& i, Index at, bool wrap) const {
    using A = typename V::Element;
    const int lanes = i.lanes;
    return map_lanes(value, [&](int lane, A x) {
      if (lane >= lanes) return x;  // lanes behind the tail have no operand
      const A term = widen_one<T>(operand[at]);
      ++at;
      if (wrap && at == cols) at = 0;
      if constexpr (std::is_integral_v<A>) {
        using U = detail::UnsignedOf<static_cast<int>(sizeof(A))>;
        return static_cast<A>(static_cast<U>(static_cast<U>(x) + static_cast<U>(term)));
      } else {
        return x + term;
      }
    });
  }
};

}  // namespace attune
