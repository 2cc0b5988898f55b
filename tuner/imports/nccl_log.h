#pragma once
/// What NCCL's own log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=TUNING) says about its calls.
#include <string>
#include <string_view>

namespace attune::tuner {

/// What the last call in the log ran: "ring/ll128 channels 0..15", "symmetric/AllReduce_RSxLD_AGxST channels 0..7
/// threads 512". Empty when no call is told. All other lines, and those that are cut, are passed over.
[[nodiscard]] std::string ran_by_nccl(std::string_view log);

}  // namespace attune::tuner
