#pragma once
/// Ops and epilogues chosen at run time, by branches that all threads take alike. A kernel for every combination would
/// be 25 times as many: minutes and hundreds of megabytes, for a branch per 16 bytes that a GPU hides behind loads.
#include <array>

#include "device/cuda.cuh"
#include "device/epilogue.h"

namespace attune::cuda {

/// Any op as a functor of the vocabulary.
struct AnyOp {
  Op op;

  /// Calls f with the op's functor: the branch is taken once for all that f does.
  template <class F>
  ATTUNE_DEVICE auto choose(F f) const {
    switch (op) {
      case Op::prod:
        return f(Prod{});
      case Op::min:
        return f(Min{});
      case Op::max:
        return f(Max{});
      case Op::sum:
      case Op::avg:
        break;
    }
    return f(Sum{});
  }
  template <class P>
  ATTUNE_DEVICE P operator()(const P& a, const P& b) const {
    return choose([&](auto chosen) { return chosen(a, b); });
  }
};

template <class F>
ATTUNE_DEVICE auto with_op(AnyOp op, F f) {
  return op.choose(f);
}
template <class O, class F>
ATTUNE_DEVICE auto with_op(O op, F f) {
  return f(op);
}

/// The op over the terms of all ranks (arrays of views, device/views.h) at position i, in rank order.
template <int Ranks, class T, std::size_t N, class Position>
ATTUNE_DEVICE auto sum_over(const Team<Ranks>& team, const std::array<View<T>, N>& terms, const Position& i, AnyOp op) {
  return fold_in_rank_order(
      team, [&](int rank) { return terms[static_cast<std::size_t>(rank)].load(i); }, op);
}

}  // namespace attune::cuda
