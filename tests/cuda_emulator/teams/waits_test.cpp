/// Launches whose peers do not come, or come with another call, end with a record that says so.
#include <gtest/gtest.h>

#include "calls.h"

namespace attune::emulated {
namespace {

Call some_call(std::string_view variant, int ranks) {
  Call call;
  while (variant_table[call.variant].name != variant) ++call.variant;
  call.content = {7, DType::f32, Op::sum, conformance::Data::exact, ranks};
  call.count = 100;
  call.chunk = 100;
  return call;
}
void launch(const Team& team, int rank, const Call& call, std::uint64_t timeout_ms) {
  cuda::Launch launch = launch_of(team, rank, call, nullptr);
  launch.timeout_ns = timeout_ms * 1'000'000;
  Team::run(kernel_of(call), launch, team[rank].stream);
}

class Waits : public testing::TestWithParam<const char*> {};

TEST_P(Waits, EndWhenAPeerDoesNotCome) {
  const Team team(3, 4096);
  const Call call = some_call(GetParam(), 3);
  launch(team, 0, call, 300);
  launch(team, 1, call, 300);
  team.synchronize();
  bool named = false;  // by all that wait for it themselves: around a ring, others wait for a rank that waits
  for (int rank = 0; rank < 2; ++rank) {
    const auto& failure = team[rank].failed();
    EXPECT_NE(failure.kind, cuda::FailureKind::none);
    EXPECT_NE(failure.kind, cuda::FailureKind::mismatch);
    EXPECT_EQ(failure.rank, rank);
    named = named || (failure.kind == cuda::FailureKind::timeout && failure.peer == 2);
  }
  EXPECT_TRUE(named);
}

TEST_P(Waits, EndWhenAPeerIsInAnotherCall) {
  const Team team(2, 4096);
  const Call call = some_call(GetParam(), 2);
  Call other = call;
  other.count = 50;  // the digest says it
  launch(team, 0, call, 3000);
  launch(team, 1, other, 3000);
  team.synchronize();
  EXPECT_TRUE(team[0].failed().kind == cuda::FailureKind::mismatch ||
              team[1].failed().kind == cuda::FailureKind::mismatch);
  EXPECT_NE(team[0].failed().kind, cuda::FailureKind::none);
  EXPECT_NE(team[1].failed().kind, cuda::FailureKind::none);
}

INSTANTIATE_TEST_SUITE_P(Of, Waits, testing::Values("mesh", "push", "two_shot", "ring", "tree"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace attune::emulated
