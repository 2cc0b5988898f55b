#include "device.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace attune::emulator {
namespace {

std::vector<Device*> make_devices() {
  std::vector<Device*> all;
  for (const int physical : settings().visible) {
    auto* device = new Device;
    device->ordinal = static_cast<int>(all.size());
    device->physical = physical;
    device->reachable = 1U << static_cast<unsigned>(physical);
    all.push_back(device);
  }
  return all;
}
const std::vector<Device*>& devices() {
  static const auto* const all = new std::vector<Device*>(make_devices());
  return *all;
}

thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;

/// Calls by name.
struct Counts {
  std::mutex mutex;
  std::map<std::string, std::uint64_t, std::less<>> of;
};
Counts& counts() {
  static auto* const all = new Counts;
  return *all;
}

void write_trace() {
  const std::string path = settings().trace + "." + std::to_string(settings().rank);
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) return;
  const std::lock_guard lock(counts().mutex);
  for (const auto& [name, count] : counts().of)
    std::fprintf(file, "%s %llu\n", name.c_str(), static_cast<unsigned long long>(count));
  std::fclose(file);
}

cudaError_t usual_error(const std::string& name) {
  if (name == "cudaMalloc" || name == "cudaHostAlloc" || name == "cudaMallocHost") return cudaErrorMemoryAllocation;
  if (name == "kernel") return cudaErrorLaunchFailure;
  if (name == "cudaLaunchKernel") return cudaErrorLaunchOutOfResources;
  if (name == "cudaGetDeviceCount") return cudaErrorInsufficientDriver;
  return cudaErrorOperatingSystem;
}

}  // namespace

int device_count() { return static_cast<int>(devices().size()); }
bool valid_ordinal(int ordinal) { return ordinal >= 0 && ordinal < device_count(); }
Device& device(int ordinal) { return *devices()[static_cast<std::size_t>(ordinal)]; }
Device& current_device() { return device(current); }
void set_current_device(int ordinal) { current = ordinal; }

bool counts_and_fails(const char* name, cudaError_t* error) {
  std::uint64_t nth = 0;
  {
    const std::lock_guard lock(counts().mutex);
    if (counts().of.empty() && !settings().trace.empty()) std::atexit(write_trace);
    nth = ++counts().of[name];
  }
  for (const auto& failure : settings().failures) {
    if (failure.call != name || failure.nth != nth) continue;
    if (failure.rank >= 0 && failure.rank != settings().rank) continue;
    *error = failure.error >= 0 ? static_cast<cudaError_t>(failure.error) : usual_error(failure.call);
    return true;
  }
  return false;
}

cudaError_t enter(const char* name, bool always) {
  cudaError_t error = cudaSuccess;
  if (counts_and_fails(name, &error)) return error;
  if (device_count() == 0) return cudaErrorNoDevice;
  return always ? cudaSuccess : static_cast<cudaError_t>(current_device().sticky.load());
}
cudaError_t leave(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last = error;
  return error;
}
cudaError_t take_last_error() {
  const auto error = last;
  const bool sticky = device_count() > 0 && current_device().sticky != cudaSuccess;
  if (!sticky) last = cudaSuccess;
  return error;
}
cudaError_t last_error() { return last; }

}  // namespace attune::emulator
