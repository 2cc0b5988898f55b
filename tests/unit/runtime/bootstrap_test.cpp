/// Ranks that are threads of one process: one that fails leaves nobody waiting.
#include "runtime/bootstrap.h"

#include <gtest/gtest.h>

#include <thread>

#include "attune/attune.hpp"

namespace attune {
namespace {

/// Runs f(rank, its bootstrap) in a thread each; a bootstrap goes with its thread.
template <class F>
void in_threads(int ranks, F f) {
  auto bootstraps = make_local_bootstraps(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&f, r, mine = std::move(bootstraps[static_cast<std::size_t>(r)])]() mutable {
      const auto bootstrap = std::move(mine);
      f(r, *bootstrap);
    });
  for (auto& thread : threads) thread.join();
}

TEST(LocalBootstrap, NamesARankThatHasLeft) {
  in_threads(4, [](int rank, Bootstrap& bootstrap) {
    bootstrap.barrier();
    EXPECT_EQ(bootstrap.gather(rank), (std::vector<int>{0, 1, 2, 3}));
    if (rank == 2) return;
    for (int again = 0; again < 3; ++again)  // nor is anybody let through later, when others have come once more
      try {
        bootstrap.barrier();
        ADD_FAILURE() << "rank " << rank << " has met a rank that has left";
      } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::internal);
        EXPECT_NE(std::string(error.what()).find(" has left it"), std::string::npos) << error.what();
      }
  });
}

// The last round is complete although its first to go is gone before the others have woken up.
TEST(LocalBootstrap, LetsThroughWhoeverHasMetAll) {
  for (int turn = 0; turn < 200; ++turn)
    in_threads(4, [](int, Bootstrap& bootstrap) { EXPECT_NO_THROW(bootstrap.barrier()); });
}

TEST(LocalTeam, EndsWithTheErrorOfTheRankThatFailed) {
  EXPECT_THROW(run_local_team(3, {.table = "none", .timeout_s = 1},
                              [](Communicator& comm) {
                                const auto memory = comm.allocate<float>(100);
                                if (comm.rank() == 1) throw std::out_of_range("of this rank alone");
                                const auto more = comm.allocate<float>(100);
                              }),
               std::exception);
}

}  // namespace
}  // namespace attune
