/// The part of the driver API that is reached through cudaGetDriverEntryPoint: address ranges, and virtual memory
/// management, whose memory no IPC handle takes. Everything else, multicast objects first, is reported absent.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "device.h"
#include "memory.h"

using namespace attune::emulator;

namespace {

void* pointer_of(CUdeviceptr p) { return reinterpret_cast<void*>(p); }

CUresult get_address_range(CUdeviceptr* base, std::size_t* size, CUdeviceptr p) {
  const Allocation* a = find(pointer_of(p));
  if (!a || !a->on_device()) return CUDA_ERROR_NOT_FOUND;
  if (base) *base = reinterpret_cast<CUdeviceptr>(a->base);
  if (size) *size = a->size;
  return CUDA_SUCCESS;
}
CUresult pointer_attribute(void* data, CUpointer_attribute what, CUdeviceptr p) {
  const Allocation* a = find(pointer_of(p));
  if (!a) return CUDA_ERROR_INVALID_VALUE;
  const auto put = [&](auto value) {
    std::memcpy(data, &value, sizeof value);
    return CUDA_SUCCESS;
  };
  switch (what) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(reinterpret_cast<CUdeviceptr>(a->base));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(a->size);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(static_cast<unsigned>(a->on_device() ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(static_cast<int>(a->kind == Kind::device));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(static_cast<unsigned long long>(a->serial));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(a->device);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}
CUresult error_name(CUresult /*error*/, const char** text) {
  *text = "emulated driver error";
  return CUDA_SUCCESS;
}

constexpr std::size_t granularity = std::size_t{2} << 20U;
CUresult get_granularity(std::size_t* bytes, const CUmemAllocationProp* /*p*/, CUmemAllocationGranularity_flags /*f*/) {
  *bytes = granularity;
  return CUDA_SUCCESS;
}
CUresult reserve(CUdeviceptr* p, std::size_t size, std::size_t /*align*/, CUdeviceptr /*hint*/, unsigned long long) {
  void* at = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *p = reinterpret_cast<CUdeviceptr>(at);
  return CUDA_SUCCESS;
}
CUresult free_addresses(CUdeviceptr p, std::size_t size) {
  munmap(pointer_of(p), size);
  return CUDA_SUCCESS;
}
CUresult create(CUmemGenericAllocationHandle* handle, std::size_t size, const CUmemAllocationProp* /*p*/,
                unsigned long long) {
  const int fd = memfd_create("attune_emulator", MFD_CLOEXEC);
  if (size == 0 || size % granularity != 0) return CUDA_ERROR_INVALID_VALUE;
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = static_cast<CUmemGenericAllocationHandle>(fd);
  return CUDA_SUCCESS;
}
CUresult destroy(CUmemGenericAllocationHandle handle) {
  return close(static_cast<int>(handle)) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult map(CUdeviceptr p, std::size_t size, std::size_t offset, CUmemGenericAllocationHandle handle,
             unsigned long long) {
  void* at = mmap(pointer_of(p), size, PROT_NONE, MAP_FIXED | MAP_SHARED, static_cast<int>(handle),
                  static_cast<off_t>(offset));
  if (at == MAP_FAILED) return CUDA_ERROR_INVALID_VALUE;
  const Device& d = current_device();
  enlist(new Allocation{.base = static_cast<std::byte*>(at),
                        .size = size,
                        .kind = Kind::mapped,
                        .device = d.ordinal,
                        .owner = d.physical});
  return CUDA_SUCCESS;
}
CUresult set_access(CUdeviceptr p, std::size_t size, const CUmemAccessDesc* /*what*/, std::size_t /*count*/) {
  const Allocation* a = find(pointer_of(p));
  if (!a) return CUDA_ERROR_INVALID_VALUE;
  if (mprotect(pointer_of(p), size, PROT_READ | PROT_WRITE) != 0) return CUDA_ERROR_INVALID_VALUE;
  protect(pointer_of(p), size, a->owner);
  return CUDA_SUCCESS;
}
CUresult unmap(CUdeviceptr p, std::size_t size) {
  Allocation* a = find(pointer_of(p));
  if (!a || a->kind != Kind::mapped) return CUDA_ERROR_INVALID_VALUE;
  forget(a);
  delete a;
  mmap(pointer_of(p), size, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return CUDA_SUCCESS;
}

struct EntryPoint {
  std::string_view name;
  void* function;
};
void* find_entry(std::string_view name) {
  static const std::array entries{
      EntryPoint{"cuMemGetAddressRange", reinterpret_cast<void*>(&get_address_range)},
      EntryPoint{"cuPointerGetAttribute", reinterpret_cast<void*>(&pointer_attribute)},
      EntryPoint{"cuGetErrorName", reinterpret_cast<void*>(&error_name)},
      EntryPoint{"cuGetErrorString", reinterpret_cast<void*>(&error_name)},
      EntryPoint{"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&get_granularity)},
      EntryPoint{"cuMemAddressReserve", reinterpret_cast<void*>(&reserve)},
      EntryPoint{"cuMemAddressFree", reinterpret_cast<void*>(&free_addresses)},
      EntryPoint{"cuMemCreate", reinterpret_cast<void*>(&create)},
      EntryPoint{"cuMemRelease", reinterpret_cast<void*>(&destroy)},
      EntryPoint{"cuMemMap", reinterpret_cast<void*>(&map)},
      EntryPoint{"cuMemSetAccess", reinterpret_cast<void*>(&set_access)},
      EntryPoint{"cuMemUnmap", reinterpret_cast<void*>(&unmap)},
  };
  for (const auto& entry : entries)
    if (name == entry.name || (name.size() == entry.name.size() + 3 && name.substr(0, entry.name.size()) == entry.name))
      return entry.function;
  return nullptr;
}

cudaError_t get_entry(const char* symbol, void** function, cudaDriverEntryPointQueryResult* status) {
  *function = find_entry(symbol);
  if (status) *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

}  // namespace

extern "C" {
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned /*version*/,
                                             unsigned long long /*flags*/, cudaDriverEntryPointQueryResult* status) {
  return call(__func__, [&] { return get_entry(symbol, function, status); });
}
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long /*flags*/,
                                    cudaDriverEntryPointQueryResult* status) {
  return call(__func__, [&] { return get_entry(symbol, function, status); });
}
}
