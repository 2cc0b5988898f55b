/// Thousands of random cases on local teams: variant x dtype x op x ranks x count x offset x placement x registered or
/// staged, rank by rank x blocks x chunk x epilogue. Exact data bit for bit, random data within the bound of the
/// numerics class (and to the bit for the rank-order class), guard bytes, input unchanged, same bits on all ranks.
///
///   ATTUNE_TEST_SEED=n      the run of that seed        ATTUNE_TEST_CASES=n   cases per rank count
///   ATTUNE_TEST_ONLY=n      that case alone             ATTUNE_TEST_VARIANT=v that variant alone
#include <gtest/gtest.h>

#include <mutex>

#include "property.h"
#include "random.h"

namespace attune::conformance {
namespace {

class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, RandomCasesHold) {
  const auto seed = test_seed();
  const int cases = static_cast<int>(from_environment("ATTUNE_TEST_CASES", static_cast<std::uint64_t>(effort(500))));
  RecordProperty("seed", std::to_string(seed));
  std::printf("seed %llu, %d cases on %d ranks\n", static_cast<unsigned long long>(seed), cases, GetParam());
  std::string failures;
  with_local_crew(GetParam(), [&](Crew& crew) {
    auto mine = run_random_cases(crew, seed, cases);
    if (crew.rank() == 0) failures = mine;
  });
  EXPECT_EQ(failures, "");
}

INSTANTIATE_TEST_SUITE_P(All, Ranks, testing::Range(2, max_ranks + 1),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace attune::conformance
