/// Groups of processes: halves of the world, ranks in another order, two communicators that share ranks and take turns.
/// Signals that met between groups or instances, and ranks taken for device numbers, were faults of other projects
/// (rows 13 and 34 of conformance/BUGS.md).
#include <gtest/gtest.h>

#include "conformance/property.h"
#include "conformance/random.h"
#include "mpi_crew.h"

namespace attune::conformance {
namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void sum(Communicator& comm, Index count, int salt) {
  std::vector<float> data(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) data[static_cast<std::size_t>(i)] = static_cast<float>(comm.rank() + i + salt);
  comm.allreduce(data.data(), data.data(), count, Op::sum);
  const int n = comm.size();
  for (Index i = 0; i < count; ++i)
    ASSERT_EQ(data[static_cast<std::size_t>(i)], static_cast<float>(n * (i + salt) + n * (n - 1) / 2)) << i;
}

TEST(Groups, HalvesOfTheWorldInAnyOrder) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, -world_rank(), &half);  // ranks in reverse
  {
    MpiCrew crew(half);
    if (crew.ranks() > 1) {
      EXPECT_EQ(run_random_cases(crew, 17 + static_cast<std::uint64_t>(world_rank() % 2), 60), "");
    }
  }
  MPI_Comm_free(&half);
}

TEST(Groups, OverlappingCommunicatorsTakeTurns) {
  const bool low = world_rank() < world_size() - 1;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : MPI_UNDEFINED, 0, &part);
  {
    Communicator all(MPI_COMM_WORLD, {.table = "none"});
    std::unique_ptr<Communicator> some;
    if (low) some = std::make_unique<Communicator>(part, Options{.table = "none"});
    for (int call = 0; call < 300; ++call) {
      const Index count = 1 + call * 37 % 3000;
      if (low) sum(*some, count, call);
      sum(all, count, call + 1);
    }
  }
  if (low) MPI_Comm_free(&part);
}

}  // namespace
}  // namespace attune::conformance
