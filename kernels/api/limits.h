#pragma once
/// What a table's plans are checked against, for each device.
#include <span>
#include <string>
#include <string_view>

#include "core/hardware.h"
#include "device/host_memory.h"
#include "dispatch/table.h"
#include "runtime/cuda_device.h"

namespace attune {

/// Empty, or why a table's plan of this variant can never run on a device.
[[nodiscard]] std::string why_never_on_host(std::string_view variant);
[[nodiscard]] std::string why_never_on_cuda(std::string_view variant);

/// A device's blocks and threads, and the names of variants that a table of it may hold.
[[nodiscard]] constexpr TableLimits limits_of(DeviceKind device, std::span<const std::string_view> variants) {
  if (device == DeviceKind::cuda) return {variants, cuda::max_plan_blocks, cuda::max_plan_threads, why_never_on_cuda};
  return {variants, host::max_blocks, 1, why_never_on_host};
}

}  // namespace attune
