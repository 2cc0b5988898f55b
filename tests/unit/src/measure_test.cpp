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

}  // namespace
}  // namespace attune::driver
