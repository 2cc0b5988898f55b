#include "runtime/cuda_device.h"

#include <fmt/format.h>

#include <array>

#include "runtime/cuda_check.h"

namespace attune::cuda {

void require_device() {
  if (const std::string reason = why_no_device(); !reason.empty())
    throw Error(Status::device, "no CUDA device: " + reason, "run on the CPUs with --device host, the default");
}

bool built() { return true; }

namespace {
int count_devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text;
  for (const char byte : uuid.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

DeviceInfo describe_device(int ordinal) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties", {-1, ordinal});
  std::array<char, 32> bus{};
  check_cuda(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), ordinal), "cudaDeviceGetPCIBusId",
             {-1, ordinal});
  return {.ordinal = ordinal,
          .name = properties.name,
          .arch = fmt::format("sm_{}{}", properties.major, properties.minor),
          .bus_id = bus.data(),
          .uuid = uuid_text(properties.uuid),
          .multiprocessors = properties.multiProcessorCount,
          .memory_bytes = static_cast<Bytes>(properties.totalGlobalMem),
          .l2_bytes = properties.l2CacheSize};
}

/// How the first two GPUs reach each other. Native atomics over a link are what NVLink has and PCIe has not.
std::string links_of(int count) {
  if (count < 2) return "one-gpu";
  int reach = 0, atomics = 0;
  if (cudaDeviceCanAccessPeer(&reach, 0, 1) != cudaSuccess || reach == 0) return "host-memory";
  if (cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, 0, 1) != cudaSuccess) atomics = 0;
  (void)cudaGetLastError();
  return atomics != 0 ? "nvlink" : "pcie";
}
}  // namespace

std::string why_no_device() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
    return cudaGetErrorString(code);
  }
  return count > 0 ? "" : "the CUDA runtime sees none";
}

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all;
  for (int i = 0; i < count_devices(); ++i) all.push_back(describe_device(i));
  return all;
}

DeviceInfo current_device() {
  int ordinal = 0;
  check_cuda(cudaGetDevice(&ordinal), "cudaGetDevice");
  return describe_device(ordinal);
}

Hardware hardware(int local_team) {
  require_device();
  const DeviceInfo first = describe_device(0);
  const int count = local_team > 0 ? local_team : count_devices();
  Hardware here{.device = DeviceKind::cuda,
                .name = first.name,
                .arch = first.arch,
                .ranks_per_node = count,
                .links = local_team > 0 ? "streams of one GPU" : links_of(count),
                .fingerprint = {}};
  here.fingerprint = fingerprint_of(here);
  return here;
}

std::string driver_version() {
  int runtime = 0, driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess || cudaDriverGetVersion(&driver) != cudaSuccess) return {};
  return fmt::format("CUDA {}.{}, driver {}.{}", runtime / 1000, runtime % 1000 / 10, driver / 1000,
                     driver % 1000 / 10);
}

}  // namespace attune::cuda
