#pragma once
/// Ranks that are MPI processes.
#include <mpi.h>

#include "runtime/bootstrap.h"

namespace attune {

class MpiBootstrap final : public Bootstrap {
 public:
  /// Duplicates `comm`, so that set-up messages never meet the caller's. Collective.
  explicit MpiBootstrap(MPI_Comm comm);
  ~MpiBootstrap() override;
  MpiBootstrap(const MpiBootstrap&) = delete;
  MpiBootstrap& operator=(const MpiBootstrap&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] bool one_process() const override { return false; }
  void allgather(const void* mine, void* all, std::size_t bytes) override;
  void barrier() override;
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

/// Throws Error(vendor) with the call and MPI's own text unless code is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// Throws Error(unsupported), with the names of the nodes, when the ranks of `comm` are on more than one. Collective.
void require_one_node(MPI_Comm comm);

}  // namespace attune
