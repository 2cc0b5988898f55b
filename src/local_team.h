#pragma once
/// Ranks that are threads of this process: on cuda all on one GPU, a stream each. No link between GPUs is in their
/// times.
#include <functional>

#include "src/mpi_session.h"
#include "src/sweep_team.h"

namespace attune::driver {

/// Runs `work` on every rank, rank 0's on this thread. Throws what a rank threw: the cause rather than that its peers
/// waited for it.
void with_local_team(int ranks, const Options& options, const TeamRequest& request,
                     const std::function<void(SweepTeam&)>& work);

/// Throws Error(usage) unless a team of `ranks` streams of one GPU makes sense here: this process alone, on cuda.
void require_local_team(const MpiSession& session, DeviceKind device, int ranks);

/// "local team: 4 streams of one GPU; no link between GPUs is in these times"
[[nodiscard]] std::string describe_local_team(int ranks);

}  // namespace attune::driver
