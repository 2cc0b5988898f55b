#pragma once
/// The kernels of the cuda device as functions that can be launched. Needs no CUDA headers.
///
/// How a launch is made: fill a cuda::Launch, then
///   void* arguments[] = {&launch};
///   cudaLaunchKernel(entry.function, dim3(launch.blocks), dim3(launch.threads), arguments, 0, stream);
/// Grid and block must be what the launch says. All blocks of all ranks of a team wait for each other: on one GPU they
/// must fit together. Launches of one team are ordered by one stream (or events): they share counters and flags.
#include <cstddef>

#include "core/types.h"
#include "device/cuda_launch.h"

namespace attune::cuda {

struct KernelEntry {
  const void* function = nullptr;  ///< Of __global__ void(Launch), as cudaLaunchKernel takes it; null: there is none.
  int max_threads = 0;
  const char* name = "";
};

/// The kernel of a variant (index in variant_table) for every op and prebuilt epilogue. `ranks` is the team's size; the
/// entry may be one for any number of ranks.
[[nodiscard]] KernelEntry find_kernel(std::size_t variant, DType dtype, int ranks);
/// The same of a fused kernel (index in fused_table); f32, f16 and bf16.
[[nodiscard]] KernelEntry find_fused_kernel(std::size_t fused, DType dtype, int ranks);

/// out = op over in[0 … ranks-1] in rank order, then the epilogue: at.in are all set, no peers, no flags; rank = 0,
/// out = at.out.at[0]. control, counters and failure may be null. Composites reduce with it.
[[nodiscard]] KernelEntry local_reduce_kernel(DType dtype);
/// The norm alone, of rows in my own memory (rank 0 of 1).
[[nodiscard]] KernelEntry local_norm_kernel(DType dtype);

/// __global__ void(StartLine), one block of one thread: waits for a word of pinned memory.
[[nodiscard]] KernelEntry start_line_kernel();

}  // namespace attune::cuda
