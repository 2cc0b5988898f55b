#include "runtime/cuda_start_line.cuh"

namespace attune::cuda {

KernelEntry start_line_kernel() { return {reinterpret_cast<const void*>(&start_line), 1, "start_line"}; }

}  // namespace attune::cuda
