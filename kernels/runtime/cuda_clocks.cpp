#include "runtime/cuda_clocks.h"

#include <dlfcn.h>

#include <array>

#include "runtime/cuda_check.h"

namespace attune::cuda {

namespace {
/// The few functions of NVML that are used, found at run time; their types are fixed by its ABI.
struct Nvml {
  using Device = void*;
  int (*init)() = nullptr;
  int (*by_bus_id)(const char*, Device*) = nullptr;
  int (*clock)(Device, unsigned int, unsigned int*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  std::string missing{};
};
constexpr unsigned int sm_clock = 1;  // NVML_CLOCK_SM
/// Reasons of NVML for a clock below the one asked for, but for those of a GPU that has nothing to do or was told to.
struct Reason {
  std::uint32_t bit;
  const char* word;
};
constexpr std::array<Reason, 5> reasons{
    {{0x4, "power cap"}, {0x8, "hardware slowdown"}, {0x20, "heat"}, {0x40, "heat (hardware)"}, {0x80, "power brake"}}};

template <class F>
void find(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(handle, name));
}

Nvml load() {
  Nvml nvml;
  void* handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    nvml.missing = "libnvidia-ml.so.1 is not installed";
    return nvml;
  }
  find(handle, "nvmlInit_v2", nvml.init);
  find(handle, "nvmlDeviceGetHandleByPciBusId_v2", nvml.by_bus_id);
  find(handle, "nvmlDeviceGetClockInfo", nvml.clock);
  find(handle, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml.reasons);
  const bool whole = nvml.init != nullptr && nvml.by_bus_id != nullptr && nvml.clock != nullptr;
  if (!whole || nvml.reasons == nullptr || nvml.init() != 0) nvml.missing = "libnvidia-ml.so.1 cannot be used";
  return nvml;
}

const Nvml& library() {
  static const Nvml nvml = load();
  return nvml;
}
}  // namespace

struct Clocks::State {
  Nvml::Device device = nullptr;
  std::string missing{};
};

std::string words_of(std::uint32_t held_down) {
  std::string words;
  for (const Reason& reason : reasons)
    if ((held_down & reason.bit) != 0) words += (words.empty() ? "" : ", ") + std::string(reason.word);
  return words;
}

Clocks::Clocks(int device) : state_(std::make_unique<State>()) {
  state_->missing = library().missing;
  if (!state_->missing.empty()) return;
  int ordinal = device;
  std::array<char, 32> bus{};
  if (device < 0) state_->missing = fault_of(cudaGetDevice(&ordinal), "cudaGetDevice");
  if (state_->missing.empty())
    state_->missing = fault_of(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), ordinal),
                               "cudaDeviceGetPCIBusId", {-1, ordinal});
  if (state_->missing.empty() && library().by_bus_id(bus.data(), &state_->device) != 0)
    state_->missing = "NVML does not know the device";
}
Clocks::~Clocks() = default;

std::string Clocks::why_not() const { return state_->missing; }

ClockSample Clocks::sample() const {
  ClockSample sample;
  if (!state_->missing.empty()) return sample;
  unsigned int mhz = 0;
  unsigned long long told = 0;
  if (library().clock(state_->device, sm_clock, &mhz) == 0) sample.sm_mhz = static_cast<int>(mhz);
  if (library().reasons(state_->device, &told) == 0)
    for (const Reason& reason : reasons) sample.held_down |= static_cast<std::uint32_t>(told) & reason.bit;
  return sample;
}

}  // namespace attune::cuda
