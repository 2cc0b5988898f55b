/// Worker threads of a rank: all blocks run at the same time, errors arrive, threads are kept.
#include "runtime/workers.h"

#include <gtest/gtest.h>

#include <barrier>
#include <stdexcept>

namespace attune::host {
namespace {

TEST(Workers, RunAllBlocksAtTheSameTime) {
  for (const int spins : {0, 1000}) {
    Workers workers(spins);
    for (const int blocks : {1, 4, 2, 7, 4}) {
      std::barrier meeting(blocks);  // passes only if every block is running
      std::atomic<unsigned> seen{0};
      workers.run(blocks, [&](int block) {
        meeting.arrive_and_wait();
        seen.fetch_or(1U << block);
      });
      EXPECT_EQ(seen, (1U << blocks) - 1);
    }
  }
}

TEST(Workers, HandOnTheErrorOfAnyBlockAndGoOn) {
  Workers workers(0);
  for (const int bad : {0, 1, 3}) {
    const auto fail = [&](int block) {
      if (block == bad) throw std::runtime_error("block " + std::to_string(block));
    };
    EXPECT_THROW(workers.run(4, fail), std::runtime_error);
    int ran = 0;
    workers.run(1, [&](int) { ++ran; });
    EXPECT_EQ(ran, 1);
    std::atomic<int> all{0};
    workers.run(4, [&](int) { ++all; });
    EXPECT_EQ(all, 4);
  }
}

}  // namespace
}  // namespace attune::host
