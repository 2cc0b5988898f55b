#include "runtime/cuda_multicast.h"

#include <cuda.h>

#include <algorithm>

#include "runtime/cuda_files.h"
#include "runtime/cuda_memory.h"

namespace attune::cuda {

namespace {
/// The driver's functions that are used; `missing` names the first one that it lacks.
struct Driver {
  std::string missing{};
  decltype(&::cuGetErrorName) error_name = nullptr;
  decltype(&::cuDeviceGet) device_get = nullptr;
  decltype(&::cuDeviceGetAttribute) attribute = nullptr;
  decltype(&::cuMemCreate) create = nullptr;
  decltype(&::cuMemRelease) release = nullptr;
  decltype(&::cuMemExportToShareableHandle) export_handle = nullptr;
  decltype(&::cuMemImportFromShareableHandle) import_handle = nullptr;
  decltype(&::cuMemAddressReserve) reserve = nullptr;
  decltype(&::cuMemAddressFree) free_address = nullptr;
  decltype(&::cuMemMap) map = nullptr;
  decltype(&::cuMemUnmap) unmap = nullptr;
  decltype(&::cuMemSetAccess) set_access = nullptr;
  decltype(&::cuMulticastCreate) multicast_create = nullptr;
  decltype(&::cuMulticastAddDevice) add_device = nullptr;
  decltype(&::cuMulticastBindMem) bind = nullptr;
  decltype(&::cuMulticastUnbind) unbind = nullptr;
  decltype(&::cuMulticastGetGranularity) granularity = nullptr;

  Driver() {
    find("cuGetErrorName", error_name);
    find("cuDeviceGet", device_get);
    find("cuDeviceGetAttribute", attribute);
    find("cuMemCreate", create);
    find("cuMemRelease", release);
    find("cuMemExportToShareableHandle", export_handle);
    find("cuMemImportFromShareableHandle", import_handle);
    find("cuMemAddressReserve", reserve);
    find("cuMemAddressFree", free_address);
    find("cuMemMap", map);
    find("cuMemUnmap", unmap);
    find("cuMemSetAccess", set_access);
    find("cuMulticastCreate", multicast_create);
    find("cuMulticastAddDevice", add_device);
    find("cuMulticastBindMem", bind);
    find("cuMulticastUnbind", unbind);
    find("cuMulticastGetGranularity", granularity);
  }
  template <class F>
  void find(const char* name, F& function) {
    function = reinterpret_cast<F>(driver_function(name));
    if (function == nullptr && missing.empty()) missing = std::string("the driver has no ") + name;
  }
};

const Driver& driver() {
  static const Driver all;
  return all;
}

void check_driver(CUresult code, const char* call, const Place& place) {
  if (code == CUDA_SUCCESS) return;
  const char* name = "unknown";
  (void)driver().error_name(code, &name);
  throw Error(Status::device, std::string(call) + " on rank " + std::to_string(place.rank) + ", device " +
                                  std::to_string(place.device) + ": " + name);
}

constexpr auto handle_type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
constexpr Bytes round_up(Bytes bytes, Bytes to) { return (bytes + to - 1) / to * to; }

CUmulticastObjectProp object_of(int ranks, Bytes bytes) {
  CUmulticastObjectProp object{};
  object.numDevices = static_cast<unsigned int>(ranks);
  object.size = static_cast<std::size_t>(bytes);
  object.handleTypes = handle_type;
  return object;
}

File export_file(unsigned long long handle, const Place& place) {
  int descriptor = -1;
  check_driver(driver().export_handle(&descriptor, handle, handle_type, 0), "cuMemExportToShareableHandle", place);
  return File(descriptor);
}

unsigned long long import_file(const File& file, const Place& place) {
  CUmemGenericAllocationHandle handle = 0;
  void* descriptor = reinterpret_cast<void*>(static_cast<std::intptr_t>(file.get()));
  check_driver(driver().import_handle(&handle, descriptor, handle_type), "cuMemImportFromShareableHandle", place);
  return handle;
}

CUdeviceptr address(const std::byte* at) { return reinterpret_cast<CUdeviceptr>(at); }
}  // namespace

std::string why_no_multicast(const Place& place) {
  if (!driver().missing.empty()) return driver().missing;
  CUdevice device = 0;
  int supported = 0;
  if (driver().device_get(&device, place.device) != CUDA_SUCCESS ||
      driver().attribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device) != CUDA_SUCCESS)
    return "the driver does not answer";
  return supported != 0 ? "" : "the device has no NVLink SHARP";
}

/// My part: physical memory of a size that is equal on all ranks.
void SwitchMemory::create(const std::vector<Bytes>& wanted) {
  const Bytes most = *std::ranges::max_element(wanted);
  std::size_t granule = 0;
  const CUmulticastObjectProp object = object_of(ranks_, most);
  check_driver(driver().granularity(&granule, &object, CU_MULTICAST_GRANULARITY_MINIMUM), "cuMulticastGetGranularity",
               place_);
  bytes_ = round_up(std::max<Bytes>(most, 1), static_cast<Bytes>(granule));
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = handle_type;
  properties.location = {};
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = place_.device;
  auto& mine = mapped_[static_cast<std::size_t>(place_.rank)];
  CUmemGenericAllocationHandle handle = 0;
  check_driver(driver().create(&handle, static_cast<std::size_t>(bytes_), &properties, 0), "cuMemCreate", place_);
  mine.handle = handle;
  map(mine);
  check_cuda(cudaMemsetAsync(mine.at, 0, static_cast<std::size_t>(bytes_), cudaStreamPerThread), "cudaMemsetAsync",
             place_);
  check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize", place_);
}

void SwitchMemory::map(Mapped& memory) const {
  CUdeviceptr at = 0;
  const auto size = static_cast<std::size_t>(bytes_);
  check_driver(driver().reserve(&at, size, 0, 0, 0), "cuMemAddressReserve", place_);
  if (const CUresult code = driver().map(at, size, 0, memory.handle, 0); code != CUDA_SUCCESS) {
    (void)driver().free_address(at, size);
    check_driver(code, "cuMemMap", place_);
  }
  memory.at = reinterpret_cast<std::byte*>(at);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = place_.device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check_driver(driver().set_access(at, size, &access, 1), "cuMemSetAccess", place_);
}

void SwitchMemory::unmap(Mapped& memory) const {
  const auto size = static_cast<std::size_t>(bytes_);
  if (memory.at != nullptr) {
    (void)driver().unmap(address(memory.at), size);
    (void)driver().free_address(address(memory.at), size);
  }
  if (memory.handle != 0) (void)driver().release(memory.handle);
  memory = {};
}

/// Everybody's memory to everybody.
void SwitchMemory::share(Bootstrap& bootstrap) {
  File mine;
  throw_together(bootstrap,
                 attempt([&] { mine = export_file(mapped_[static_cast<std::size_t>(place_.rank)].handle, place_); }),
                 {});
  const auto files = exchange_files(bootstrap, mine);
  throw_together(bootstrap, attempt([&] {
                   for (std::size_t r = 0; r < files.size(); ++r) {
                     if (files[r].get() < 0) continue;
                     mapped_[r].handle = import_file(files[r], place_);
                     map(mapped_[r]);
                   }
                 }),
                 {});
}

/// Rank 0 makes the object; all devices are in it before any memory is bound, and all memory before it is used.
void SwitchMemory::join(Bootstrap& bootstrap) {
  File object;
  throw_together(bootstrap, attempt([&] {
                   if (place_.rank != 0) return;
                   const CUmulticastObjectProp properties = object_of(ranks_, bytes_);
                   CUmemGenericAllocationHandle handle = 0;
                   check_driver(driver().multicast_create(&handle, &properties), "cuMulticastCreate", place_);
                   multicast_.handle = handle;
                   object = export_file(handle, place_);
                 }),
                 {});
  const auto files = exchange_files(bootstrap, object);
  throw_together(bootstrap, attempt([&] {
                   if (place_.rank != 0) multicast_.handle = import_file(files[0], place_);
                   CUdevice device = 0;
                   check_driver(driver().device_get(&device, place_.device), "cuDeviceGet", place_);
                   check_driver(driver().add_device(multicast_.handle, device), "cuMulticastAddDevice", place_);
                 }),
                 {});
  throw_together(bootstrap, attempt([&] {
                   const auto& mine = mapped_[static_cast<std::size_t>(place_.rank)];
                   check_driver(
                       driver().bind(multicast_.handle, 0, mine.handle, 0, static_cast<std::size_t>(bytes_), 0),
                       "cuMulticastBindMem", place_);
                   bound_ = true;
                   map(multicast_);
                 }),
                 {});
}

SwitchMemory::SwitchMemory(Bootstrap& bootstrap, Bytes bytes, const Place& place)
    : place_(place), ranks_(bootstrap.size()) {
  try {
    const auto wanted = bootstrap.gather(bytes);
    throw_together(bootstrap, attempt([&] { create(wanted); }), "use smaller buffers");
    share(bootstrap);
    join(bootstrap);
  } catch (...) {
    unmap_peers();
    unmap(multicast_);
    unmap(mapped_[static_cast<std::size_t>(place_.rank)]);
    throw;
  }
}

void SwitchMemory::unmap_peers() {
  for (int r = 0; r < ranks_; ++r)
    if (r != place_.rank) unmap(mapped_[static_cast<std::size_t>(r)]);
}

SwitchMemory::~SwitchMemory() {
  if (abandoned_) return;
  unmap_peers();
  CUdevice device = 0;
  if (bound_ && driver().device_get(&device, place_.device) == CUDA_SUCCESS)
    (void)driver().unbind(multicast_.handle, device, 0, static_cast<std::size_t>(bytes_));
  unmap(multicast_);
  unmap(mapped_[static_cast<std::size_t>(place_.rank)]);
}

}  // namespace attune::cuda
