#pragma once
/// MPI for the length of one subcommand, and the rule that an error is told once, by one rank.
#include <mpi.h>

#include <functional>

#include "core/error.h"

namespace attune::driver {

class MpiSession {
 public:
  /// MPI_Init_thread; without mpirun this is one rank. Throws Error(vendor).
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  [[nodiscard]] MPI_Comm world() const { return MPI_COMM_WORLD; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// All ranks have done their work. Throws Error(timeout) when one does not come: MPI_Finalize would wait for ever.
  void leave_together() const;
  /// Tells an error. If every rank comes here, rank 0 alone prints it and the status is returned; if some rank does
  /// not come within a few seconds, this rank prints and ends the whole job with that exit code.
  [[nodiscard]] Status fail(const Error& error) noexcept;

 private:
  int rank_ = 0;
  int size_ = 1;
  MPI_Comm farewell_ = MPI_COMM_NULL;  ///< For fail() alone: its messages meet nobody else's.
};

/// Runs `body` in a session; errors end as MpiSession::fail says. The exit code of the rank.
[[nodiscard]] Status with_mpi(const std::function<Status(MpiSession&)>& body);

/// This process' rank as the launcher's environment tells, before and without MPI_Init; 0 without a launcher.
[[nodiscard]] int launched_rank();

/// Has a launcher started this process, as one of several ranks or the only one?
[[nodiscard]] bool is_launched();

/// "attune: error: <text>" on standard error, line feeds turned into spaces.
void print_error(const std::string& text) noexcept;

}  // namespace attune::driver
