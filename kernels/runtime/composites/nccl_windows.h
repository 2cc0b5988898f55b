#pragma once
/// Which memory from symmetric_memory() lives in this process, and in which communicators it is a window.
#include <string>

#include "runtime/bootstrap.h"
#include "runtime/composites/nccl_library.h"

namespace attune::cuda {

/// Collective: makes windows of all such memory of the current device. Empty, or the same fault on all ranks;
/// `refused`: because NCCL cannot do that here.
[[nodiscard]] std::string register_windows(ncclComm_t comm, Bootstrap& bootstrap, const Place& place, bool& refused);

/// The communicator ends: its windows end with it.
void forget_windows(ncclComm_t comm);

}  // namespace attune::cuda
