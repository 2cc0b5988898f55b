#pragma once
/// An epilogue of your own, fused at the store of the allreduce's result:
///
///   attune::allreduce(comm, in, out, n, attune::Op::sum,
///                     [](attune::Index i, float x) { return std::tanh(x) * gain[i]; });
///
/// `f(index, value) → value` is called once per element of the result, on the rank that stores it first, with the value
/// in its accumulator (float for the 16- and 8-bit floats), before it is rounded to T; with `avg`, after the division.
/// It must give the same on all ranks, must not throw, and may run on several threads at once. Every variant takes it:
/// its kernels are compiled in this translation unit, for the instructions that this unit is compiled for (a pull-in of
/// all variants: some seconds per functor). The vendor's result gets a second pass.
#include <array>
#include <concepts>

#include "attune/attune.hpp"
#include "runtime/host_kernels.h"
#include "runtime/local_reduce.h"
#include "variants/registry.h"

namespace attune {

/// A functor that can be an epilogue for elements of type T.
template <class F, class T>
concept EpilogueFunctor = requires(const F& f, Index i, Accumulator<T> value) {
  { f(i, value) } -> std::convertible_to<Accumulator<T>>;
};

namespace host {

template <class V, class T, class F, bool Called>
void callers_kernel(const Launch& launch, int index) {
  using Isa = isa::baseline;
  const auto& arguments = *static_cast<const CallerArguments*>(launch.extra);
  const CallerEpilogue<F> epilogue{{arguments.divisor}, {*static_cast<const F*>(arguments.function), arguments.base}};
  if constexpr (Called) {
    run_kernel<V, Isa, T, 0, false>(launch, index, CalledOp<Isa, T>{op_function<Isa, T>(launch.op)}, epilogue);
  } else {
    run_kernel<V, Isa, T, 0, false>(launch, index, Sum{}, epilogue);
  }
}

/// One kernel per variant in the vocabulary, null for composites and for what needs a switch, then the local reduction.
template <class T, class F, bool Called>
inline constexpr auto callers_kernels = [] {
  std::array<Kernel, variant_table.size() + 1> list{};
  std::size_t at = 0;
  for_each_variant([&]<class V>() {
    if constexpr (V::traits.needs != Needs::multimem) list[at] = &callers_kernel<V, T, F, Called>;
    ++at;
  });
  list.back() = &callers_kernel<local_reduce, T, F, Called>;
  return list;
}();

template <class T, class F>
[[nodiscard]] CallerKernels callers_kernels_of(const F& f) {
  return {callers_kernels<T, F, false>, callers_kernels<T, F, true>, &f};
}

}  // namespace host

/// out = f(index, op over all ranks' in) on every rank. Collective, with the same functor. Throws as
/// Communicator::allreduce does.
template <class T, EpilogueFunctor<T> F>
void allreduce(Communicator& comm, const T* in, T* out, Index count, Op op, const F& f) {
  const CallerKernels kernels = host::callers_kernels_of<T>(f);
  comm.allreduce(AllreduceCall{in, out, count, dtype_of<T>, op, {}, &kernels});
}
/// The same with a plan by hand.
template <class T, EpilogueFunctor<T> F>
void allreduce(Communicator& comm, const T* in, T* out, Index count, Op op, const F& f, const Plan& plan) {
  const CallerKernels kernels = host::callers_kernels_of<T>(f);
  comm.allreduce(AllreduceCall{in, out, count, dtype_of<T>, op, {}, &kernels}, plan);
}

}  // namespace attune
