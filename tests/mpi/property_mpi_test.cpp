/// The random cases of the conformance tests between processes: mapped memory, the vendor and composites included.
#include <gtest/gtest.h>

#include "conformance/property.h"
#include "conformance/random.h"
#include "mpi_crew.h"

namespace attune::conformance {
namespace {

TEST(Processes, RandomCasesHold) {
  MpiCrew crew;
  std::uint64_t seed = test_seed();
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  const int cases = static_cast<int>(from_environment("ATTUNE_TEST_CASES", static_cast<std::uint64_t>(effort(300))));
  if (crew.rank() == 0) std::printf("seed %llu, %d cases\n", static_cast<unsigned long long>(seed), cases);
  EXPECT_EQ(run_random_cases(crew, seed, cases), "");
}

}  // namespace
}  // namespace attune::conformance
