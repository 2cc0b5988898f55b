#pragma once
/// The reductions, on packs of accumulators. All are commutative and, sums and products of floats apart,
/// associative to the bit, so that every variant gives the same bits.
///   sum, prod  integers wrap (computed unsigned); floats round to nearest even.
///   min, max   NaN wins over any number and comes out as one canonical quiet NaN; −0 is less than +0
///              (IEEE 754-2019 minimum and maximum). MPI and NCCL leave NaN undefined.
///   avg        is a sum; the division is part of the epilogue (device/epilogue.h).
#include <limits>

#include "device/lane_pack.h"
#include "device/pack.h"

namespace attune {

namespace detail {
/// Integers wrap: their arithmetic is done on the unsigned type of the same width.
template <class A, int L, class F>
ATTUNE_DEVICE Vector<A, L> wrapping(Vector<A, L> a, Vector<A, L> b, F f) {
  if constexpr (std::is_integral_v<A>) {
    using U = Vector<UnsignedOf<static_cast<int>(sizeof(A))>, L>;
    return (Vector<A, L>)f((U)a, (U)b);
  } else {
    return f(a, b);
  }
}

template <bool Least, class A, int L>
ATTUNE_DEVICE Vector<A, L> extreme(Vector<A, L> a, Vector<A, L> b) {
  using Bits = UnsignedOf<static_cast<int>(sizeof(A))>;
  using U = Vector<Bits, L>;
  const U take_a = Least ? (U)(a < b) : (U)(a > b);
  const U picked = ((U)a & take_a) | ((U)b & ~take_a);
  if constexpr (std::is_integral_v<A>) {
    return (Vector<A, L>)picked;
  } else {
    const U equal = (U)(a == b);  // only the sign of a zero can differ
    const U either = Least ? ((U)a | (U)b) : ((U)a & (U)b);
    const U unordered = (U)(a != a) | (U)(b != b);
    const U ordered = (picked & ~equal) | (either & equal);
    constexpr auto quiet = std::bit_cast<Bits>(std::numeric_limits<A>::quiet_NaN());
    return (Vector<A, L>)((ordered & ~unordered) | ((U{} + quiet) & unordered));
  }
}
}  // namespace detail

struct Sum {
  template <class A, int L, int P>
  ATTUNE_DEVICE Pack<A, L, P> operator()(const Pack<A, L, P>& a, const Pack<A, L, P>& b) const {
    const auto add = [](auto u, auto v) __attribute__((always_inline)) { return u + v; };
    return map_parts<Pack<A, L, P>>(
        [add](auto x, auto y) __attribute__((always_inline)) { return detail::wrapping<A, L>(x, y, add); }, a, b);
  }
  template <class A, int L>
  ATTUNE_DEVICE LanePack<A, L> operator()(const LanePack<A, L>& a, const LanePack<A, L>& b) const {
    return map_parts<LanePack<A, L>>([](A x, A y) { return detail::sum_one(x, y); }, a, b);
  }
};
struct Prod {
  template <class A, int L, int P>
  ATTUNE_DEVICE Pack<A, L, P> operator()(const Pack<A, L, P>& a, const Pack<A, L, P>& b) const {
    const auto multiply = [](auto u, auto v) __attribute__((always_inline)) { return u * v; };
    return map_parts<Pack<A, L, P>>(
        [multiply](auto x, auto y) __attribute__((always_inline)) { return detail::wrapping<A, L>(x, y, multiply); }, a,
        b);
  }
  template <class A, int L>
  ATTUNE_DEVICE LanePack<A, L> operator()(const LanePack<A, L>& a, const LanePack<A, L>& b) const {
    return map_parts<LanePack<A, L>>([](A x, A y) { return detail::product_one(x, y); }, a, b);
  }
};
template <bool Least>
struct Extreme {
  template <class A, int L, int P>
  ATTUNE_DEVICE Pack<A, L, P> operator()(const Pack<A, L, P>& a, const Pack<A, L, P>& b) const {
    return map_parts<Pack<A, L, P>>(
        [](auto x, auto y) __attribute__((always_inline)) { return detail::extreme<Least, A, L>(x, y); }, a, b);
  }
  template <class A, int L>
  ATTUNE_DEVICE LanePack<A, L> operator()(const LanePack<A, L>& a, const LanePack<A, L>& b) const {
    return map_parts<LanePack<A, L>>([](A x, A y) { return detail::extreme_one<Least>(x, y); }, a, b);
  }
};
using Min = Extreme<true>;
using Max = Extreme<false>;

}  // namespace attune
