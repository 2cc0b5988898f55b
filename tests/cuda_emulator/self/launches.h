#pragma once
/// Launches of the kernels of kernels.cuh, by nvcc's own stubs.
#include <cuda_runtime_api.h>

namespace attune::emulator_test {

struct Shape {
  dim3 grid, block;
  cudaStream_t stream = nullptr;
};
void launch_indices(const Shape& shape, int* out);
void launch_block_sums(const Shape& shape, const float* in, float* out);
void launch_racing_sums(const Shape& shape, const float* in, float* out);
void launch_warps(const Shape& shape, int* out);
void launch_add(const Shape& shape, int* data, int count, int value);
void launch_append(const Shape& shape, int* data, int value);
void launch_to_bf16(const Shape& shape, const float* in, void* out);
void launch_meet(const Shape& shape, unsigned* mine, unsigned* theirs, unsigned epoch, int turns, int* met);
/// Through cudaLaunchKernel with the stub's address, as a table of kernels would.
cudaError_t launch_exchange(const Shape& shape, const int* in, int* out, unsigned* raise, unsigned* await, int count,
                            unsigned epoch);
void launch_trap(const Shape& shape);
void launch_half_of_a_barrier(const Shape& shape);
void launch_write_one(const Shape& shape, int* at, int value);
/// The address that occupancy queries take.
const void* add_kernel();

}  // namespace attune::emulator_test
