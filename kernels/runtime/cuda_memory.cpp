#include "runtime/cuda_memory.h"

#include <cuda.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace attune::cuda {

DeviceGuard::DeviceGuard(const Place& place) {
  int now = -1;
  check_cuda(cudaGetDevice(&now), "cudaGetDevice", place);
  if (now == place.device) return;
  check_cuda(cudaSetDevice(place.device), "cudaSetDevice", place);
  before_ = now;
}

DeviceGuard::~DeviceGuard() {
  if (before_ >= 0) (void)cudaSetDevice(before_);
}

DeviceMemory::DeviceMemory(Bytes bytes, const Place& place) : bytes_(std::max<Bytes>(bytes, 1)) {
  void* at = nullptr;
  const auto size = static_cast<std::size_t>(bytes_);
  check_cuda(cudaMalloc(&at, size), "cudaMalloc", place);
  at_ = static_cast<std::byte*>(at);
  try {
    check_cuda(cudaMemsetAsync(at, 0, size, cudaStreamPerThread), "cudaMemsetAsync", place);
    check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize", place);
  } catch (...) {
    reset();  // no destructor runs
    throw;
  }
}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(at_, other.at_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void DeviceMemory::reset() {
  if (at_ != nullptr) (void)cudaFree(at_);
  at_ = nullptr;
}

PinnedMemory::PinnedMemory(Bytes bytes, const Place& place) {
  void* at = nullptr;
  const auto size = static_cast<std::size_t>(std::max<Bytes>(bytes, 1));
  check_cuda(cudaHostAlloc(&at, size, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc", place);
  at_ = static_cast<std::byte*>(at);
  std::memset(at_, 0, size);
  void* mapped = nullptr;
  try {
    check_cuda(cudaHostGetDevicePointer(&mapped, at, 0), "cudaHostGetDevicePointer", place);
  } catch (...) {
    (void)cudaFreeHost(at);
    throw;
  }
  on_device_ = static_cast<std::byte*>(mapped);
}

PinnedMemory::~PinnedMemory() {
  if (at_ != nullptr) (void)cudaFreeHost(at_);
}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(at_, other.at_);
  std::swap(on_device_, other.on_device_);
  return *this;
}

void* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  constexpr unsigned int version = 12000;  // the oldest driver that runs this library
  const cudaError_t code = cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else
  const cudaError_t code = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (code == cudaSuccess && found == cudaDriverEntryPointSuccess) return function;
  (void)cudaGetLastError();
  return nullptr;
}

namespace {
cudaPointerAttributes attributes_of(const void* memory, const Place& place) {
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes", place);
  return attributes;
}

/// What the driver knows of a pointer; `otherwise` where it does not say.
template <class T>
T ask_driver(CUpointer_attribute what, const void* memory, T otherwise) {
  using Query = CUresult (*)(void*, CUpointer_attribute, CUdeviceptr);
  static const auto query = reinterpret_cast<Query>(driver_function("cuPointerGetAttribute"));
  T value = otherwise;
  const bool told = query != nullptr && query(&value, what, reinterpret_cast<CUdeviceptr>(memory)) == CUDA_SUCCESS;
  return told ? value : otherwise;
}

/// Memory of the stream-ordered and of virtual-memory pools has no IPC handle of the classic kind. Where the driver
/// does not know, the export itself will tell.
bool has_ipc_handle(const void* memory) {
  return ask_driver(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory, 1) != 0;
}
}  // namespace

void require_device_memory(const void* memory, const char* what, const Place& place) {
  const auto attributes = attributes_of(memory, place);
  const bool mine = attributes.type == cudaMemoryTypeDevice && attributes.device == place.device;
  if (mine || attributes.type == cudaMemoryTypeManaged) return;
  const bool other = attributes.type == cudaMemoryTypeDevice;
  throw Error(Status::usage,
              std::string(what) + " is no memory of device " + std::to_string(place.device) +
                  (other ? " but of device " + std::to_string(attributes.device) : std::string(", but of the host")),
              "give memory from Communicator::allocate, or from cudaMalloc on this rank's device");
}

std::uint64_t allocation_id(const void* memory) { return ask_driver(CU_POINTER_ATTRIBUTE_BUFFER_ID, memory, 0ULL); }

Allocation allocation_of(const void* memory, const char* what, const Place& place) {
  require_device_memory(memory, what, place);
  using Range = CUresult (*)(CUdeviceptr*, std::size_t*, CUdeviceptr);
  static const auto range = reinterpret_cast<Range>(driver_function("cuMemGetAddressRange"));
  Allocation allocation;
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  if (range == nullptr || range(&base, &bytes, reinterpret_cast<CUdeviceptr>(memory)) != CUDA_SUCCESS) {
    allocation.why_private = "the driver does not tell where its allocation begins";
    return allocation;
  }
  allocation.base = reinterpret_cast<std::byte*>(base);
  allocation.bytes = static_cast<Bytes>(bytes);
  if (attributes_of(memory, place).type == cudaMemoryTypeManaged)
    allocation.why_private = "managed memory has no IPC handle";
  else if (!has_ipc_handle(memory))
    allocation.why_private = "memory of a virtual-memory or stream-ordered pool has no IPC handle";
  return allocation;
}

}  // namespace attune::cuda
