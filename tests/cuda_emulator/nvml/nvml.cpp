/// A stand-in for the driver's management library: every device runs at its clock, but for the one whose bus id
/// `ATTUNE_EMULATED_THROTTLED` names, which heat holds down.
#include <cstdlib>
#include <string_view>

namespace {
constexpr unsigned long long idle = 0x1, hot = 0x20;
struct Device {
  bool throttled;
};
Device cool{false}, warm{true};
}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  const char* named = std::getenv("ATTUNE_EMULATED_THROTTLED");
  *device = named != nullptr && std::string_view(bus_id) == named ? &warm : &cool;
  return 0;
}
int nvmlDeviceGetClockInfo(void* device, unsigned /*which*/, unsigned* mhz) {
  *mhz = static_cast<Device*>(device)->throttled ? 1200 : 1980;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = static_cast<Device*>(device)->throttled ? hot : idle;
  return 0;
}
}
