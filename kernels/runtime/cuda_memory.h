#pragma once
/// Device and pinned memory that frees itself, and what the driver knows about a pointer.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/types.h"
#include "runtime/cuda_check.h"

namespace attune::cuda {

/// Makes a device current for a scope: an application may drive others from the same thread.
class DeviceGuard {
 public:
  explicit DeviceGuard(const Place& place);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = -1;  ///< -1: nothing to go back to.
};

/// Zeroed memory of the current device from cudaMalloc, which CUDA IPC can export.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Throws Error(device). Waits until the zeros are there. At least 1 byte.
  DeviceMemory(Bytes bytes, const Place& place);
  ~DeviceMemory() { reset(); }
  DeviceMemory(DeviceMemory&& other) noexcept : at_(other.at_), bytes_(other.bytes_) { other.at_ = nullptr; }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;

  [[nodiscard]] std::byte* get() const { return at_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  void reset();
  /// Never frees it: a peer that has failed may still reach for it.
  void abandon() { at_ = nullptr; }

 private:
  std::byte* at_ = nullptr;
  Bytes bytes_ = 0;
};

/// Zeroed page-locked host memory, mapped into the device.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(Bytes bytes, const Place& place);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept : at_(other.at_), on_device_(other.on_device_) { other.at_ = nullptr; }
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;

  [[nodiscard]] std::byte* get() const { return at_; }
  [[nodiscard]] std::byte* on_device() const { return on_device_; }

 private:
  std::byte* at_ = nullptr;
  std::byte* on_device_ = nullptr;
};

/// The allocation around a pointer.
struct Allocation {
  std::byte* base = nullptr;
  Bytes bytes = 0;
  std::string why_private{};  ///< Why other processes cannot map it; empty: they can.
};
/// Throws Error(usage), in the name of `what`, when the memory is not the device's.
[[nodiscard]] Allocation allocation_of(const void* memory, const char* what, const Place& place);

/// A number of the allocation around a pointer that no other one gets, however often its addresses are given out; 0:
/// there is none now, or the driver does not say.
[[nodiscard]] std::uint64_t allocation_id(const void* memory);

/// Throws Error(usage) unless a kernel on this device can address the memory.
void require_device_memory(const void* memory, const char* what, const Place& place);

/// A function of the driver, or nullptr where the driver has none of this name. The library does not link the driver:
/// it must load on machines without one.
[[nodiscard]] void* driver_function(const char* name);

}  // namespace attune::cuda
