#include "src/mpi_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "api/settings.h"
#include "runtime/mpi_bootstrap.h"
#include "src/measure_meeting.h"

namespace attune::driver {

namespace {
using Clock = std::chrono::steady_clock;

/// Does every rank come here in time?
bool all_come(MPI_Comm comm, std::chrono::milliseconds patience) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(comm, &request) != MPI_SUCCESS) return false;
  const auto limit = Clock::now() + patience;
  for (int done = 0; Clock::now() < limit;) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// This process' rank in the launcher's words; null without a launcher.
const char* rank_given() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name)) return value;
  return nullptr;
}
}  // namespace

MpiSession::MpiSession() {
  // Lets Open MPI's own algorithms be candidates (vendor:openmpi/…); without a forced one its decisions stay the same.
  ::setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_dup(MPI_COMM_WORLD, &farewell_);
}

MpiSession::~MpiSession() {
  MPI_Comm_free(&farewell_);
  MPI_Finalize();
}

Status MpiSession::fail(const Error& error) noexcept {
  // Ranks that fail alone wait a little longer the higher they are, so that one of several speaks, the others are
  // ended.
  const std::chrono::milliseconds patience{2000 + 200 * rank_};
  if (all_come(farewell_, patience)) {
    if (rank_ == 0) print_error(error.what());
    return error.status();
  }
  print_error("rank " + std::to_string(rank_) + ": " + error.what());
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.status()));
  std::_Exit(static_cast<int>(error.status()));
}

void MpiSession::leave_together() const {
  const double patience_s = patience_of(timeout_from_environment(30));
  if (patience_s <= 0) return;
  if (!all_come(world(), std::chrono::milliseconds(static_cast<std::int64_t>(1000 * patience_s))))
    throw Error(Status::timeout, fmt::format("a rank did not come to the end within {:.0f} s", patience_s),
                "it hangs or is gone; what was written is complete");
}

Status with_mpi(const std::function<Status(MpiSession&)>& body) {
  MpiSession session;
  try {
    const Status status = body(session);
    session.leave_together();
    return status;
  } catch (const Error& error) {
    return session.fail(error);
  } catch (const std::exception& error) {
    return session.fail(Error(Status::internal, error.what()));
  }
}

int launched_rank() {
  const char* const rank = rank_given();
  return rank == nullptr ? 0 : std::atoi(rank);
}

bool is_launched() { return rank_given() != nullptr; }

void print_error(const std::string& text) noexcept {
  std::string line = "attune: error: " + text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace attune::driver
