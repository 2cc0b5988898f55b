#pragma once
/// Ops and epilogues chosen at run time, called out of line. Kernels of the plain sum are compiled in full; all others
/// share one kernel per variant and dtype that calls these functions once per pack: a call costs a few nanoseconds
/// per 64 bytes, compiling every combination costs minutes and megabytes.
#include "device/epilogue.h"
#include "device/ops.h"

namespace attune::host {

/// The pack of T's accumulators on registers of Isa.
template <class Isa, class T>
using AccumulatorPack = Pack<Accumulator<T>, HostPack<T, Isa::native>::lanes_per_part, HostPack<T, Isa::native>::parts>;

template <class Isa, class T>
using OpFunction = void (*)(AccumulatorPack<Isa, T>& sum, const AccumulatorPack<Isa, T>& term);
template <class Isa, class T>
using EpilogueFunction = void (*)(const AnyEpilogue<T>& epilogue, Index first, int lanes,
                                  AccumulatorPack<Isa, T>& value);

template <class Isa, class T, class O>
void apply_op(AccumulatorPack<Isa, T>& sum, const AccumulatorPack<Isa, T>& term) {
  sum = O{}(sum, term);
}
/// Where a pack lies, for epilogues.
struct Position {
  Index first;
  int lanes;
};
template <class Isa, class T>
void apply_epilogue(const AnyEpilogue<T>& epilogue, Index first, int lanes, AccumulatorPack<Isa, T>& value) {
  value = epilogue(Position{first, lanes}, value);
}

/// The function of an op; defined in a translation unit per instruction set.
template <class Isa, class T>
OpFunction<Isa, T> op_function(Op op);
template <class Isa, class T>
EpilogueFunction<Isa, T> epilogue_function();

/// Any op as a functor of the vocabulary.
template <class Isa, class T>
struct CalledOp {
  OpFunction<Isa, T> function;
  ATTUNE_DEVICE auto operator()(AccumulatorPack<Isa, T> sum, const AccumulatorPack<Isa, T>& term) const {
    function(sum, term);
    return sum;
  }
};
/// Any epilogue as a functor of the vocabulary.
template <class Isa, class T>
struct CalledEpilogue {
  EpilogueFunction<Isa, T> function;
  const AnyEpilogue<T>& epilogue;
  ATTUNE_DEVICE auto operator()(const auto& i, AccumulatorPack<Isa, T> value) const {
    if (function != nullptr) function(epilogue, i.first, i.lanes, value);
    return value;
  }
};

}  // namespace attune::host
