#pragma once
/// Kernels by the address of their host stub, and how a launch is run.
#include <cuda_runtime_api.h>

#include <functional>
#include <string>

#include "block.h"

namespace attune::emulator {

/// From __cudaRegisterFunction.
void register_stub(const void* stub, const char* name);
/// The mangled name of a kernel; empty when the stub is unknown.
[[nodiscard]] std::string kernel_name(const void* stub);
/// A launch with its arguments copied. Fails as the runtime would: unknown kernel, impossible shape.
cudaError_t prepare(const void* stub, dim3 grid, dim3 block, void** arguments, std::size_t shared, Grid* prepared);
/// Blocks of that many threads that one multiprocessor holds.
[[nodiscard]] int blocks_per_multiprocessor(unsigned threads);
/// Runs all blocks, as many at once as the device holds, and returns when they have ended.
cudaError_t run(const Grid& grid);

}  // namespace attune::emulator
