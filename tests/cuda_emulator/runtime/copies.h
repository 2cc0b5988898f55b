#pragma once
/// Copies and fills in the order of a stream.
#include <cuda_runtime_api.h>

#include <cstddef>

namespace attune::emulator {

cudaError_t copy_in_order(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, cudaStream_t stream);
/// On the default stream; returns when the copy is done (between two device pointers: at once, as the real one may).
cudaError_t copy_and_wait(void* to, const void* from, std::size_t size, cudaMemcpyKind kind);
cudaError_t fill_in_order(void* to, int value, std::size_t size, cudaStream_t stream);

}  // namespace attune::emulator
