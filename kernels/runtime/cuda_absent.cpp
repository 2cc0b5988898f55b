/// The cuda device of a build without CUDA: there is none, and that is the reason.
#include "core/error.h"
#include "runtime/cuda_backend.h"
#include "runtime/cuda_clocks.h"
#include "runtime/cuda_device.h"
#include "runtime/cuda_timing.h"
#include "runtime/symmetric_memory.h"
#include "runtime/vendor_log.h"

namespace attune::cuda {

namespace {
constexpr const char* reason = "this build has no cuda device";
[[noreturn]] void refuse() {
  throw Error(Status::device, std::string("no CUDA device: ") + reason, "run on the CPUs with --device host");
}
}  // namespace

bool built() { return false; }
std::string why_no_device() { return reason; }
void require_device() { refuse(); }
std::vector<DeviceInfo> devices() { return {}; }
Hardware hardware(int /*local_team*/) { refuse(); }
DeviceInfo current_device() { refuse(); }
std::string driver_version() { return {}; }
std::string vendor_version() { return {}; }

std::unique_ptr<Backend> make_backend(std::unique_ptr<Bootstrap> /*bootstrap*/, const BackendOptions& /*options*/) {
  refuse();
}
void prepare_local_team() {}

std::shared_ptr<std::byte> local_memory(Bytes /*bytes*/) { refuse(); }
std::shared_ptr<std::byte> pinned_memory(Bytes /*bytes*/) { refuse(); }

struct LaunchTimer::State {};
LaunchTimer::LaunchTimer(double /*timeout_s*/) { refuse(); }
LaunchTimer::~LaunchTimer() = default;
void* LaunchTimer::stream() const { refuse(); }
void LaunchTimer::arm() { refuse(); }
void LaunchTimer::begin() { refuse(); }
void LaunchTimer::end() { refuse(); }
void LaunchTimer::go() { refuse(); }
double LaunchTimer::elapsed_us() { refuse(); }

struct CapturedCalls::State {};
CapturedCalls::CapturedCalls(void* /*stream*/, const std::function<void()>& /*calls*/) { refuse(); }
CapturedCalls::~CapturedCalls() = default;
void CapturedCalls::finish() { refuse(); }
void CapturedCalls::launch() { refuse(); }

std::string words_of(std::uint32_t /*held_down*/) { return {}; }
struct Clocks::State {};
Clocks::Clocks(int /*device*/) {}
Clocks::~Clocks() = default;
std::string Clocks::why_not() const { return reason; }
ClockSample Clocks::sample() const { return {}; }

std::string why_no_symmetric_memory() { return reason; }
std::shared_ptr<std::byte> symmetric_memory(Bytes /*bytes*/) {
  throw Error(Status::unsupported, std::string("no symmetric memory: ") + reason, "use the variant vendor");
}

struct VendorLog::State {
  std::string missing = reason;
};
VendorLog::VendorLog() : state_(std::make_unique<State>()) {}
VendorLog::~VendorLog() = default;
const std::string& VendorLog::why_not() const { return state_->missing; }
std::string VendorLog::text() const { return {}; }

}  // namespace attune::cuda
