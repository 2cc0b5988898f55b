#pragma once
/// Memory that the vendor's kernels can address on all ranks at once: NCCL's symmetric windows. Declared in every
/// build.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/types.h"

namespace attune::cuda {

/// The choice of NCCL that works on such memory: its kernels for windows, where both buffers of a call are in one. On
/// any other memory NCCL takes its ordinary algorithms.
inline constexpr std::string_view symmetric_choice = "vendor:nccl/symmetric";

/// Empty, or why this process' NCCL has no windows.
[[nodiscard]] std::string why_no_symmetric_memory();

/// Zeroed memory of the current device, from NCCL. The ranks of a team ask for as much as each other, in the same order
/// and before the first call of that choice: that makes windows of it (collective). Freed with the last owner, when the
/// windows have been taken back. Throws Error(unsupported) where there is none, Error(device) when it is not given.
[[nodiscard]] std::shared_ptr<std::byte> symmetric_memory(Bytes bytes);

}  // namespace attune::cuda
