#pragma once
/// From a fused kernel's type to kernels.
#include "device/cuda_rows.cuh"
#include "runtime/cuda_kernels.cuh"

namespace attune::cuda {

template <class V, class T, int Ranks>
__global__ void __launch_bounds__(max_threads, 1) fused_kernel(const __grid_constant__ Launch launch) {
  __shared__ BlockMemory memory[1];
  Block<T> block(launch, memory[0]);
  const Rows<T> rows{launch.rows, memory[0]};
  V::template run<Ranks, T>(block, Team<Ranks>(launch.rank, launch.ranks), rows,
                            [&](Span row, double squares) { return RmsNorm<T>(launch.rows, row, squares); });
  block.finish();
}

template <class V>
KernelTable make_fused_kernels(const char* name) {
  KernelTable table;
  const auto entry = [name]<class T, int Ranks>() {
    return KernelEntry{reinterpret_cast<const void*>(&fused_kernel<V, T, Ranks>), max_threads, name};
  };
  fill<V, float>(table, entry);
  fill<V, f16>(table, entry);
  fill<V, bf16>(table, entry);
  return table;
}

}  // namespace attune::cuda
