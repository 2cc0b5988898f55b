/// A team of ranks that are threads of this process, as sweep and bench drive it: how it ends when one rank fails
/// alone.
#include "src/local_team.h"

#include <gtest/gtest.h>

namespace attune::driver {
namespace {

/// What a team ends with whose rank `broken` throws where the others meet without it in `step`.
template <class Step>
void expect_cause(const Step& step) {
  constexpr int ranks = 3;
  for (int broken = 0; broken < ranks; ++broken) try {
      with_local_team(ranks, {.table = "none", .timeout_s = 1, .scratch_bytes = 1 << 20}, {.timeout_s = 1},
                      [&](SweepTeam& team) {
                        if (team.rank() == broken) throw Error(Status::vendor, "the cause");
                        step(team);
                      });
      ADD_FAILURE() << "rank " << broken << " has failed and nobody says so";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::vendor) << error.what();
      EXPECT_STREQ(error.what(), "the cause");
    }
}

TEST(LocalTeam, TellsTheCauseWhereOthersStandInAStepOfTheirBootstrap) {
  expect_cause([](SweepTeam& team) { (void)team.comm().allocate_bytes(4096); });
}

TEST(LocalTeam, EndsWhereOthersStandInTheBootstrapOfAnotherCommunicator) {
  expect_cause([](SweepTeam& team) { team.replace_communicator(); });
}

}  // namespace
}  // namespace attune::driver
