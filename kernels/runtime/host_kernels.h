#pragma once
/// From a variant to functions that can be called: one table per variant and instruction set.
#include <array>

#include "device/epilogue.h"
#include "device/host_block.h"

namespace attune::host {

/// The kernels of one variant, by dtype. `sum2` and `sum` are the plain sum (for two ranks, for any), `any` takes
/// every op and prebuilt epilogue at run time: these are memory-bound loops, and the one uniform branch a pack
/// costs less than ten times the code.
struct KernelTable {
  std::array<Kernel, 12> sum2{};
  std::array<Kernel, 12> sum{};
  std::array<Kernel, 12> any{};
};

template <class V, class Isa, class T, int Ranks, class O, class E>
[[gnu::flatten]] void run_kernel(const Launch& launch, int index, O op, const E& epilogue) {
  Block<Isa, T> block(launch, index);
  const Buffers<T> buffers{launch.count, launch.chunk, block.addresses()};
  V::template run<Ranks, T>(block, Team<Ranks>(launch.rank, launch.ranks), buffers, op, epilogue);
  if (launch.streaming) detail::drain_streaming_stores();
}

template <class V, class Isa, class T, int Ranks>
void sum_kernel(const Launch& launch, int index) {
  run_kernel<V, Isa, T, Ranks>(launch, index, Sum{}, NoEpilogue{});
}
template <class V, class Isa, class T>
void any_kernel(const Launch& launch, int index) {
  run_kernel<V, Isa, T, 0>(launch, index, AnyOp{launch.op}, *static_cast<const AnyEpilogue<T>*>(launch.epilogue));
}

template <class V, class Isa>
KernelTable make_kernels() {
  KernelTable table;
  for (const DType dtype : all_of<DType>()) {
    const auto d = static_cast<std::size_t>(dtype);
    with_dtype(dtype, [&]<class T>() {
      if constexpr (Isa::native > isa::baseline::native) table.sum2[d] = &sum_kernel<V, Isa, T, 2>;
      table.sum[d] = &sum_kernel<V, Isa, T, 0>;
      table.any[d] = &any_kernel<V, Isa, T>;
    });
  }
  return table;
}

/// Defined in a generated translation unit per variant and instruction set.
template <class V, class Isa>
const KernelTable& kernels_of();

}  // namespace attune::host
