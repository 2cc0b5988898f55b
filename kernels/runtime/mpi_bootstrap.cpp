#include "runtime/mpi_bootstrap.h"

#include <array>
#include <set>
#include <string>

#include "core/error.h"

namespace attune {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(Status::vendor, std::string(call) + ": " + text.data());
}

MpiBootstrap::MpiBootstrap(MPI_Comm comm) {
  check_mpi(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

MpiBootstrap::~MpiBootstrap() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0 && comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

void MpiBootstrap::allgather(const void* mine, void* all, std::size_t bytes) {
  check_mpi(MPI_Allgather(mine, static_cast<int>(bytes), MPI_BYTE, all, static_cast<int>(bytes), MPI_BYTE, comm_),
            "MPI_Allgather");
}

void MpiBootstrap::barrier() { check_mpi(MPI_Barrier(comm_), "MPI_Barrier"); }

void require_one_node(MPI_Comm comm) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  std::array<int, 2> sizes{};
  MPI_Comm_size(comm, &sizes[0]);
  MPI_Comm_size(node, &sizes[1]);
  MPI_Comm_free(&node);
  int same = sizes[0] == sizes[1] ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  if (same == 1) return;
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  std::vector<std::array<char, MPI_MAX_PROCESSOR_NAME>> names(static_cast<std::size_t>(sizes[0]));
  check_mpi(MPI_Allgather(name.data(), static_cast<int>(name.size()), MPI_CHAR, names.data(),
                          static_cast<int>(name.size()), MPI_CHAR, comm),
            "MPI_Allgather");
  std::set<std::string> nodes;
  for (const auto& n : names) nodes.insert(n.data());
  std::string list;
  for (const auto& n : nodes) list += (list.empty() ? "" : ", ") + n;
  throw Error(Status::unsupported, "the ranks are on several nodes (" + list + ") and a team is within one node",
              "launch the ranks on one node, or give each node its own communicator (MPI_Comm_split_type)");
}

}  // namespace attune
