/// Ranks meet, start together and agree on samples; a rank that does not come is an error and not a hang.
#include <gtest/gtest.h>

#include <thread>

#include "src/measure.h"
#include "tests/unit/src/local_sweep.h"

namespace attune::driver {
namespace {

template <class F>
void on_ranks(int ranks, const MeetingOptions& options, const F& f) {
  auto bootstraps = make_local_bootstraps(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      Meeting meeting(*bootstraps[static_cast<std::size_t>(r)], options);
      f(meeting);
    });
  for (auto& thread : threads) thread.join();
}

TEST(Meeting, ExchangesValuesManyTimes) {
  on_ranks(3, {.yield = true}, [](Meeting& meeting) {
    for (int turn = 0; turn < 2000; ++turn) {
      const auto all = meeting.exchange(turn * 10 + meeting.rank());
      for (int r = 0; r < 3; ++r) ASSERT_EQ(all[static_cast<std::size_t>(r)], turn * 10 + r);
    }
    EXPECT_EQ(meeting.from_root(meeting.rank() + 5), 5);
  });
}

TEST(Meeting, NobodyStartsBeforeTheCommonStart) {
  on_ranks(2, {.yield = true}, [](Meeting& meeting) {
    for (int turn = 0; turn < 200; ++turn) {
      const std::int64_t start = meeting.start_together(20'000);
      ASSERT_GE(now_ns(), start);
      const auto all = meeting.exchange(start);
      ASSERT_EQ(all[0], all[1]);
    }
  });
}

TEST(Meeting, NamesTheRankThatDoesNotCome) {
  on_ranks(2, {.yield = true, .timeout_s = 0.2}, [](Meeting& meeting) {
    if (meeting.rank() == 1) return;
    try {
      meeting.barrier();
      FAIL() << "expected a timeout";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::timeout);
      EXPECT_NE(std::string(error.what()).find("for rank 1"), std::string::npos) << error.what();
    }
  });
}

/// Takes a known time on one rank.
class SlowExecutor : public Executor {
 public:
  explicit SlowExecutor(int rank) : rank_(rank) {}
  void run(Communicator&, const Problem&, const Plan&, const Operands&) override {
    const auto until = now_ns() + (rank_ == 1 ? 300'000 : 1'000);
    while (now_ns() < until) std::this_thread::yield();
  }

 private:
  int rank_;
};

TEST(Measurer, TakesTheTimeOfTheLastRank) {
  const auto make = [](int rank) { return std::make_unique<SlowExecutor>(rank); };
  const Problem problem{.count = 64, .ranks = 2};
  testing::with_local_workers(2, {.registered_bytes = 4096}, make, [&](SweepWorker& worker) {
    Order order = order_for(OrderKind::block, problem, {.variant = "mesh"});
    order.warm_up = 1;
    order.calls = 6;
    worker.give(order);
    const BlockOfSamples block = worker.block(order);
    worker.give({});
    EXPECT_EQ(block.accepted_us.size() + block.refused_us.size(), 6U);
    for (const double sample : block.accepted_us) EXPECT_GE(sample, 300);
    for (const double sample : block.refused_us) EXPECT_GE(sample, 300);
  });
}

/// Follows what ranks need to hear of the start; interruptions, however often, do not make all calls wait.
TEST(Measurer, SlackFollowsTheNeedNotInterruptions) {
  const auto after = [](int calls, bool oversubscribed, auto late_ns) {
    std::int64_t slack = 3000;
    for (int call = 0; call < calls; ++call) slack = next_slack_ns(slack, late_ns(call, slack), oversubscribed);
    return slack;
  };
  const auto never = [](int, std::int64_t) { return std::int64_t{0}; };
  const auto needs = [](std::int64_t need) {
    return [need](int, std::int64_t slack) { return std::max(need - slack, std::int64_t{0}); };
  };
  const auto every_tenth = [](std::int64_t late) {
    return [late](int call, std::int64_t) { return call % 10 == 0 ? late : 0; };
  };
  EXPECT_EQ(after(1000, false, never), 1000) << "no less, that ranks hear of it at all";
  EXPECT_GE(after(1000, false, needs(6000)), 5000);
  EXPECT_LE(after(1000, false, needs(6000)), 9000);
  EXPECT_LE(after(1000, false, every_tenth(50000)), 3000) << "a rank that was interrupted";
  EXPECT_LE(after(1000, false, every_tenth(5000)), 10000) << "short interruptions cannot be told from need";
  EXPECT_GT(after(1000, true, needs(500000)), 300000) << "ranks that wait for a core need long";
}

}  // namespace
}  // namespace attune::driver
