#pragma once
/// The ranks of an mpirun as a crew.
#include <mpi.h>

#include "conformance/crew.h"
#include "conformance/domains.h"

namespace attune::conformance {

class MpiCrew final : public Crew {
 public:
  explicit MpiCrew(MPI_Comm comm = MPI_COMM_WORLD) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
  }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] bool has_vendor() const override { return true; }
  [[nodiscard]] Communicator communicator(const Options& options) override {
    auto grouped = options;
    if (grouped.domains.empty()) grouped.domains = several_domains(ranks_);
    return Communicator(comm_, grouped);
  }
  [[nodiscard]] std::array<Note, max_ranks> gather(const Note& mine) override {
    std::array<Note, max_ranks> all;
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm_);
    return all;
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 1;
};

}  // namespace attune::conformance
