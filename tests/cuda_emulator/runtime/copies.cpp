#include "copies.h"

#include <cstring>
#include <memory>
#include <vector>

#include "memory.h"
#include "stream.h"

namespace attune::emulator {
namespace {

enum class Place { device, pinned, pageable };

/// Where a range lies. False when it begins in an allocation and does not end in it.
bool place_of(const void* p, std::size_t size, Place* place) {
  const Allocation* a = find(p);
  if (!a) {
    *place = Place::pageable;
    return true;
  }
  *place = a->on_device() ? Place::device : Place::pinned;
  return static_cast<const std::byte*>(p) + size <= a->base + a->size;
}

bool fits(cudaMemcpyKind kind, Place to, Place from) {
  const bool to_device = to == Place::device, from_device = from == Place::device;
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !to_device && !from_device;
    case cudaMemcpyHostToDevice:  // pinned memory is the device's, too
      return to != Place::pageable && !from_device;
    case cudaMemcpyDeviceToHost:
      return !to_device && from != Place::pageable;
    case cudaMemcpyDeviceToDevice:
      return to != Place::pageable && from != Place::pageable;
    default:
      return true;
  }
}

cudaError_t copy(void* to, const void* from, std::size_t size) {
  const Touching touching;
  std::memmove(to, from, size);
  return cudaSuccess;
}

struct Copy {
  Place to, from;
};
cudaError_t check(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, Copy* copy) {
  if (!to || !from) return cudaErrorInvalidValue;
  if (!place_of(to, size, &copy->to) || !place_of(from, size, &copy->from)) return cudaErrorInvalidValue;
  return fits(kind, copy->to, copy->from) ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t copy_in_order(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, cudaStream_t handle) {
  Stream* stream = stream_of(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (size == 0) return cudaSuccess;
  Copy places{};
  if (const auto error = check(to, from, size, kind, &places); error != cudaSuccess) return error;
  const bool staged = places.from == Place::pageable && !stream->capture;
  if (staged) {  // the real one has read pageable memory when it returns
    const auto* bytes = static_cast<const std::byte*>(from);
    auto taken = std::make_shared<std::vector<std::byte>>(bytes, bytes + size);
    return enqueue(*stream, [to, taken] { return copy(to, taken->data(), taken->size()); });
  }
  MarkerPtr marker;
  const auto error = enqueue(
      *stream, [=] { return copy(to, from, size); }, &marker);
  if (places.to == Place::pageable) wait(marker);  // and has written it
  return error;
}

cudaError_t copy_and_wait(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
  if (const auto error = refuse_while_capturing(); error != cudaSuccess) return error;
  Copy places{};
  if (size == 0) return cudaSuccess;
  if (const auto error = check(to, from, size, kind, &places); error != cudaSuccess) return error;
  MarkerPtr marker;
  const auto error = enqueue(
      *stream_of(nullptr), [=] { return copy(to, from, size); }, &marker);
  if (places.to != Place::device || places.from != Place::device) wait(marker);
  return error;
}

cudaError_t fill_in_order(void* to, int value, std::size_t size, cudaStream_t handle) {
  Stream* stream = stream_of(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (size == 0) return cudaSuccess;
  Place place{};
  if (!to || !place_of(to, size, &place) || place == Place::pageable) return cudaErrorInvalidValue;
  return enqueue(*stream, [=] {
    const Touching touching;
    std::memset(to, value, size);
    return cudaSuccess;
  });
}

}  // namespace attune::emulator
