#pragma once
/// Devices as this process sees them, the error state, and the frame of every call of the runtime.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <string>

#include "settings.h"

namespace attune::emulator {

/// One visible device in this process.
struct Device {
  int ordinal = 0;
  int physical = 0;
  std::atomic<int> sticky{cudaSuccess};     ///< the error that ended this device for the process
  std::atomic<std::uint64_t> allocated{0};  ///< bytes
  std::atomic<std::uint32_t> reachable{0};  ///< physical devices that kernels may access, a bit each
  std::atomic<std::uint32_t> peers_on{0};   ///< ordinals that cudaDeviceEnablePeerAccess was called for

  /// The first error stays.
  void fail(cudaError_t error) {
    int none = cudaSuccess;
    sticky.compare_exchange_strong(none, error);
  }
};

[[nodiscard]] int device_count();
[[nodiscard]] Device& device(int ordinal);
/// The device of the calling thread.
[[nodiscard]] Device& current_device();
void set_current_device(int ordinal);
[[nodiscard]] bool valid_ordinal(int ordinal);

/// Counts the call, plants its failure when one is asked for, and says what is left to say before its body runs.
[[nodiscard]] cudaError_t enter(const char* name, bool always);
/// Keeps an error for cudaGetLastError.
cudaError_t leave(cudaError_t error);
/// True when the nth event of this name (a call, or "kernel") was asked to fail.
[[nodiscard]] bool counts_and_fails(const char* name, cudaError_t* error);

cudaError_t take_last_error();
cudaError_t last_error();

/// The frame of a call: body() returns a cudaError_t. The error of a device that has ended is returned instead of
/// calling it, unless `always`.
template <class F>
cudaError_t call(const char* name, F body, bool always = false) {
  if (const auto error = enter(name, always); error != cudaSuccess) return leave(error);
  const cudaError_t error = body();
  const auto sticky = device_count() > 0 ? static_cast<cudaError_t>(current_device().sticky.load()) : cudaSuccess;
  return leave(sticky != cudaSuccess ? sticky : error);
}

}  // namespace attune::emulator
