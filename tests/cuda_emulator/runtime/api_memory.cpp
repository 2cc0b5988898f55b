/// Allocation, host memory, pointers.
#include <cuda_runtime_api.h>

#include "copies.h"
#include "device.h"
#include "memory.h"
#include "stream.h"

using namespace attune::emulator;

namespace {

cudaError_t allocate_for(void** pointer, std::size_t size, Kind kind) {
  *pointer = nullptr;
  if (size == 0) return cudaSuccess;
  Allocation* a = allocate(current_device(), size, kind);
  if (!a) return cudaErrorMemoryAllocation;
  *pointer = a->base;
  return cudaSuccess;
}
/// Like the real ones, releasing waits for the device; it takes the base of an allocation only.
cudaError_t release_base(void* pointer, bool host) {
  if (!pointer) return cudaSuccess;
  if (const auto error = refuse_while_capturing(); error != cudaSuccess) return error;
  Allocation* a = find(pointer);
  const bool right =
      a && a->base == pointer && (host ? a->kind == Kind::host : a->kind == Kind::device || a->kind == Kind::pool);
  if (!right) return cudaErrorInvalidValue;
  wait_for_device(device(a->device));
  release(a);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, std::size_t size) {
  return call(__func__, [&] {
    if (!pointer) return cudaErrorInvalidValue;
    if (const auto error = refuse_while_capturing(); error != cudaSuccess) return error;
    return allocate_for(pointer, size, Kind::device);
  });
}
cudaError_t cudaFree(void* pointer) {
  return call(__func__, [&] { return release_base(pointer, false); });
}
cudaError_t cudaMallocAsync(void** pointer, std::size_t size, cudaStream_t handle) {
  return call(__func__, [&] {
    if (!stream_of(handle)) return cudaErrorInvalidResourceHandle;
    return allocate_for(pointer, size, Kind::pool);
  });
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return call(__func__, [&] {
    Stream* stream = stream_of(handle);
    Allocation* a = find(pointer);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (!a || a->base != pointer) return cudaErrorInvalidValue;
    return enqueue(*stream, [a] {
      release(a);
      return cudaSuccess;
    });
  });
}
cudaError_t cudaHostAlloc(void** pointer, std::size_t size, unsigned /*flags*/) {
  return call(__func__, [&] {
    if (!pointer) return cudaErrorInvalidValue;
    if (const auto error = refuse_while_capturing(); error != cudaSuccess) return error;
    return allocate_for(pointer, size, Kind::host);
  });
}
cudaError_t cudaMallocHost(void** pointer, std::size_t size) {
  return call(__func__, [&] {
    if (!pointer) return cudaErrorInvalidValue;
    if (const auto error = refuse_while_capturing(); error != cudaSuccess) return error;
    return allocate_for(pointer, size, Kind::host);
  });
}
cudaError_t cudaFreeHost(void* pointer) {
  return call(__func__, [&] { return release_base(pointer, true); });
}
cudaError_t cudaHostGetDevicePointer(void** pointer, void* host, unsigned flags) {
  return call(__func__, [&] {
    const Allocation* a = find(host);
    if (!a || a->on_device() || flags != 0) return cudaErrorInvalidValue;
    *pointer = host;
    return cudaSuccess;
  });
}
cudaError_t cudaHostRegister(void* pointer, std::size_t size, unsigned /*flags*/) {
  return call(__func__, [&] {
    if (!pointer || size == 0) return cudaErrorInvalidValue;
    if (find(pointer) || find(static_cast<std::byte*>(pointer) + size - 1)) return cudaErrorHostMemoryAlreadyRegistered;
    adopt(pointer, size, current_device());
    return cudaSuccess;
  });
}
cudaError_t cudaHostUnregister(void* pointer) {
  return call(__func__, [&] {
    Allocation* a = find(pointer);
    if (!a || a->kind != Kind::registered || a->base != pointer) return cudaErrorHostMemoryNotRegistered;
    release(a);
    return cudaSuccess;
  });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call(__func__, [&] {
    *attributes = {};
    const Allocation* a = find(pointer);
    attributes->device = a ? a->device : -2;
    attributes->type = !a ? cudaMemoryTypeUnregistered : a->on_device() ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
    if (!a) attributes->hostPointer = const_cast<void*>(pointer);
    if (a) attributes->devicePointer = const_cast<void*>(pointer);
    if (a && !a->on_device()) attributes->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
  return call(__func__, [&] { return copy_and_wait(to, from, size, kind); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
  return call(__func__, [&] { return copy_in_order(to, from, size, kind, stream); });
}
cudaError_t cudaMemcpyPeer(void* to, int /*device*/, const void* from, int /*device*/, std::size_t size) {
  return call(__func__, [&] { return copy_and_wait(to, from, size, cudaMemcpyDefault); });
}
cudaError_t cudaMemcpyPeerAsync(void* to, int /*device*/, const void* from, int /*device*/, std::size_t size,
                                cudaStream_t stream) {
  return call(__func__, [&] { return copy_in_order(to, from, size, cudaMemcpyDefault, stream); });
}
cudaError_t cudaMemset(void* to, int value, std::size_t size) {
  return call(__func__, [&] { return fill_in_order(to, value, size, nullptr); });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t size, cudaStream_t stream) {
  return call(__func__, [&] { return fill_in_order(to, value, size, stream); });
}
}
