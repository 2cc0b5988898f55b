#pragma once
/// Every CUDA and NCCL call goes through here: an error says the call, file and line, rank and device.
#include <cuda_runtime_api.h>

#include <source_location>
#include <string>

#include "core/error.h"

namespace attune::cuda {

/// Who makes a call: for the text of its error.
struct Place {
  int rank = -1;    ///< -1: no team yet.
  int device = -1;  ///< -1: none chosen yet.
};

/// "cudaMalloc at cuda_memory.cpp:40 on rank 1, device 3: out of memory (cudaErrorMemoryAllocation)"
[[nodiscard]] std::string describe(cudaError_t code, const char* call, const Place& place,
                                   const std::source_location& where);

/// Throws Error(device) unless the code is cudaSuccess.
inline void check_cuda(cudaError_t code, const char* call, const Place& place = {},
                       const std::source_location& where = std::source_location::current()) {
  if (code == cudaSuccess) [[likely]]
    return;
  (void)cudaGetLastError();  // errors that are not sticky must not be found again by an innocent call
  throw Error(Status::device, describe(code, call, place, where));
}

/// The same as a text: empty when all is well. For steps after which the ranks compare notes (throw_together).
[[nodiscard]] inline std::string fault_of(cudaError_t code, const char* call, const Place& place = {},
                                          const std::source_location& where = std::source_location::current()) {
  if (code == cudaSuccess) [[likely]]
    return {};
  (void)cudaGetLastError();
  return describe(code, call, place, where);
}

/// Runs a step that this rank alone may fail at; what it throws becomes a text for throw_together.
template <class F>
[[nodiscard]] std::string attempt(F&& step) {
  try {
    step();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace attune::cuda
