#include <vector>

#include "runtime/cuda_launch.h"
#include "runtime/cuda_tables.h"
#include "variants/registry.h"

namespace attune::host {
struct local_reduce;
struct local_rms_norm;
}  // namespace attune::host

namespace attune::cuda {

namespace {

/// Empty where there are no kernels: GPUs of one team reach each other alike, so two levels gain nothing there.
template <class V>
KernelTable table_of() {
  if constexpr (V::traits.needs == Needs::domains) {
    return {};
  } else {
    return kernels_of<V>();
  }
}
template <class... V>
std::vector<KernelTable> tables_of(TypeList<V...> /*variants*/) {
  return {table_of<V>()...};
}

}  // namespace

KernelEntry find_kernel(std::size_t variant, DType dtype, int ranks) {
  static const std::vector<KernelTable> all = tables_of(AllVariants{});
  return all.at(variant).find(dtype, ranks);
}

KernelEntry find_fused_kernel(std::size_t fused, DType dtype, int ranks) {
  static const std::vector<KernelTable> all = tables_of(FusedVariants{});
  return all.at(fused).find(dtype, ranks);
}

KernelEntry local_reduce_kernel(DType dtype) { return kernels_of<host::local_reduce>().find(dtype, 0); }

KernelEntry local_norm_kernel(DType dtype) { return kernels_of<host::local_rms_norm>().find(dtype, 0); }

}  // namespace attune::cuda
