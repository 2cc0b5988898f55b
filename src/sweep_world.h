#pragma once
/// What a sweep does with all launched ranks at once.
#include <functional>
#include <string>
#include <vector>

#include "src/mpi_session.h"

namespace attune::driver {

/// Runs `make` on rank 0 and gives its text to all; its Error is thrown on all ranks. Collective.
[[nodiscard]] std::string from_rank_0(MpiSession& session, const std::function<std::string()>& make);

/// Every rank's text, in rank order. Collective.
[[nodiscard]] std::vector<std::string> gather_texts(MpiSession& session, const std::string& mine);

/// A barrier that leaves the core to those who work: it sleeps between looks. Throws Error(timeout) after `limit_s`
/// seconds; 0 = none. Collective.
void quiet_barrier(MPI_Comm comm, double limit_s);

/// The communicator of world ranks 0 … count−1; MPI_COMM_NULL on the others. Collective; free it with MPI_Comm_free.
[[nodiscard]] MPI_Comm first_ranks(MpiSession& session, int count);

}  // namespace attune::driver
