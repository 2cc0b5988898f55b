#pragma once
/// The GPUs that this process sees. Declared in every build; without CUDA there are none, with that as the reason.
#include <string>
#include <vector>

#include "core/hardware.h"

namespace attune::cuda {

/// Limits of plans, whatever the GPU; what is co-resident on it may be less.
inline constexpr int max_plan_blocks = 64;
inline constexpr int max_plan_threads = 512;
inline constexpr int default_threads = 512;

struct DeviceInfo {
  int ordinal = 0;       ///< As this process counts, after CUDA_VISIBLE_DEVICES.
  std::string name{};    ///< "NVIDIA H100 80GB HBM3"
  std::string arch{};    ///< "sm_90"
  std::string bus_id{};  ///< PCI address: the same device has the same one in every process.
  std::string uuid{};
  int multiprocessors = 0;
  Bytes memory_bytes = 0;
  Bytes l2_bytes = 0;
};

/// Is the cuda device part of this build?
[[nodiscard]] bool built();

/// Empty, or why no GPU can be used here.
[[nodiscard]] std::string why_no_device();
/// Throws Error(device) that says so, and how to go on without.
void require_device();

/// The GPU that this thread drives. Throws Error(device).
[[nodiscard]] DeviceInfo current_device();

/// All GPUs that this process sees, in its order; empty when there are none.
[[nodiscard]] std::vector<DeviceInfo> devices();

/// This node as a cuda device: the first GPU stands for all. Of a local team of so many streams of one GPU another
/// hardware than the node's, so that no table of one is taken for the other's. Throws as require_device does.
[[nodiscard]] Hardware hardware(int local_team = 0);

/// "CUDA 13.0, driver 13.0", or empty.
[[nodiscard]] std::string driver_version();

}  // namespace attune::cuda
