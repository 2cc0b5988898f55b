#pragma once
/// Allreduce without peer access: every input travels over the slow path, every rank reduces for itself.
#include "runtime/host_team.h"

namespace attune::host {

/// Collective. Works on any memory; staging is at most 1 MiB per rank. Throws as HostTeam::allreduce does, and
/// Error(vendor) when the slow path (MPI's messages) fails.
void naive_allreduce(HostTeam& team, const AllreduceCall& call);

}  // namespace attune::host
