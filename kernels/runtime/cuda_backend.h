#pragma once
/// The cuda device behind the public API. Declared in every build; without CUDA it throws Error(device).
#include "runtime/backend.h"

namespace attune::cuda {

/// Collective. Processes: one GPU per rank. Threads of one process (make_local_bootstraps): all on one GPU, a stream
/// each. Throws Error(device) on all ranks when one of them cannot.
[[nodiscard]] std::unique_ptr<Backend> make_backend(std::unique_ptr<Bootstrap> bootstrap,
                                                    const BackendOptions& options);

/// Before the threads of a local team start: settings of the CUDA runtime that it needs to run their kernels at once.
void prepare_local_team();

/// "NCCL 2.28.9", or empty when there is none.
[[nodiscard]] std::string vendor_version();

}  // namespace attune::cuda
