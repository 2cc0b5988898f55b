/// Makes the host build of all kernels known to the stand-in runtime. In this library the tables of kernels hold
/// functions that can be called.
#include "runtime/cuda_launch.h"
#include "runtime/cuda_tables.h"
#include "variants/registry.h"

namespace attune::cuda {
namespace {

template <class Argument = Launch>
bool add(const KernelEntry& entry) {
  return entry.function == nullptr ||
         emulator::add_kernel(reinterpret_cast<void (*)(Argument)>(const_cast<void*>(entry.function)));
}
bool add_tables() {
  bool all = add<StartLine>(start_line_kernel());
  for (const DType dtype : all_of<DType>()) {
    for (std::size_t v = 0; v < variant_table.size(); ++v)
      for (int ranks = 2; ranks <= max_ranks && !variant_table[v].composite; ++ranks)
        all = add(find_kernel(v, dtype, ranks)) && all;
    for (std::size_t f = 0; f < fused_table.size(); ++f)
      for (int ranks = 2; ranks <= max_ranks; ++ranks) all = add(find_fused_kernel(f, dtype, ranks)) && all;
    all = add(local_reduce_kernel(dtype)) && add(local_norm_kernel(dtype)) && all;
  }
  return all;
}
[[maybe_unused]] const bool known = add_tables();

}  // namespace
}  // namespace attune::cuda
