/// Sweeps on local teams: planted faults end as a status, in no table, and are not tried again on resume.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "tests/unit/src/faults.h"
#include "tests/unit/src/local_sweep.h"
#include "tuner/build_table.h"

namespace attune::driver {
namespace {
using testing::Fault;
using testing::FaultyExecutor;
using testing::LocalSweep;

SweepConfig small_config() {
  SweepConfig config;
  config.sizes = {64, 4096};
  config.variants = {"mesh", "two_shot", "naive"};
  config.blocks = {1};
  config.cell_seconds = 0.1;
  return config;
}

LocalSweep sweep_with(Fault fault, const SweepConfig& config, LeaderOptions options = {.launch = "test"}) {
  auto shared = std::make_shared<FaultyExecutor::Shared>();
  return testing::sweep_locally(
      2, config, [&](int rank) { return std::make_unique<FaultyExecutor>(fault, rank, shared); }, std::move(options),
      0.5);
}

bool in_table(const LocalSweep& sweep, const std::string& variant) {
  for (const auto& key : tuner::tune(sweep.records, tuner::facts_of_variant, {}, nullptr))
    for (const auto& table : tuner::table_of({key}, {}, {}, {}).tables)
      for (const auto& rule : table.rules)
        if (rule.plan.variant == variant) return true;
  return false;
}

int count_status(const LocalSweep& sweep, const std::string& variant, tuner::CellStatus status) {
  return static_cast<int>(std::count_if(sweep.records.begin(), sweep.records.end(), [&](const auto& record) {
    return record.plan.variant == variant && record.status == status;
  }));
}

TEST(Sweep, MeasuresEveryCellAndFinishesEveryJob) {
  const LocalSweep sweep = sweep_with(Fault::none, small_config());
  EXPECT_EQ(sweep.lines.size(), 2U);
  EXPECT_EQ(sweep.finished.size(), 2U);
  for (const char* name : {"mesh", "two_shot", "naive"}) EXPECT_GE(count_status(sweep, name, tuner::CellStatus::ok), 2);
  EXPECT_EQ(count_status(sweep, "vendor", tuner::CellStatus::unsupported), 2) << "threads have no vendor";
}

class SweepFaults : public ::testing::TestWithParam<std::pair<Fault, tuner::CellStatus>> {};

TEST_P(SweepFaults, NeverGetIntoATable) {
  const auto [fault, status] = GetParam();
  const LocalSweep sweep = sweep_with(fault, small_config());
  EXPECT_GE(count_status(sweep, "mesh", status), 1);
  EXPECT_EQ(count_status(sweep, "mesh", tuner::CellStatus::ok), 0);
  EXPECT_GE(count_status(sweep, "two_shot", tuner::CellStatus::ok), 2) << "the others go on";
  EXPECT_FALSE(in_table(sweep, "mesh"));
}
INSTANTIATE_TEST_SUITE_P(All, SweepFaults,
                         ::testing::Values(std::pair(Fault::wrong_element, tuner::CellStatus::wrong),
                                           std::pair(Fault::skipped_tail, tuner::CellStatus::wrong),
                                           std::pair(Fault::hangs, tuner::CellStatus::timed_out),
                                           std::pair(Fault::throws, tuner::CellStatus::failed)));

TEST(Sweep, SkipsCellsAndJobsOfEarlierLaunches) {
  const SweepConfig config = small_config();
  const LocalSweep first = sweep_with(Fault::none, config);
  LeaderOptions options{.launch = "second", .finished = {*first.finished.begin()}};
  options.skip.insert({first.records.back().problem, {.variant = "mesh"}});
  const LocalSweep second = sweep_with(Fault::none, config, options);
  EXPECT_EQ(second.finished.size(), 1U);
  EXPECT_EQ(second.lines.size(), 1U);
}

TEST(Sweep, StopsWhenTheBudgetIsUsedUp) {
  SweepConfig config = small_config();
  config.sizes = {64, 128, 256, 512, 1024, 2048, 4096, 8192};
  const LocalSweep sweep = sweep_with(Fault::none, config, {.launch = "test", .budget_s = 0.001});
  EXPECT_EQ(sweep.finished.size(), 0U) << "a resume goes on with what was cut short";
  EXPECT_NE(sweep.lines.back().find("budget"), std::string::npos);
}

TEST(Sweep, EndsOnAllRanksWhenAHookThrows) {
  const SweepConfig config = small_config();
  auto shared = std::make_shared<FaultyExecutor::Shared>();
  const auto make = [&](int rank) { return std::make_unique<FaultyExecutor>(Fault::none, rank, shared); };
  TeamRequest request{.timeout_s = 60};
  request.registered_bytes = request.staged_bytes = 4096;
  const auto start = std::chrono::steady_clock::now();
  const auto lead = [&](SweepWorker& worker) {
    LeaderHooks hooks{.record = [](const tuner::Record&) { throw std::runtime_error("planted"); },
                      .running = [](const CellName&) {},
                      .finished = [](const std::string&) {},
                      .line = [](const std::string&) {},
                      .progress = [](double, const std::string&) {}};
    SweepLeader(worker, config, {.launch = "test"}, std::move(hooks)).run();
  };
  EXPECT_THROW(testing::with_local_workers(2, request, make, lead), std::runtime_error);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << "the others wait 130 s for an order";
}

TEST(Sweep, RacingWorksOnALiveTeam) {
  SweepConfig config = small_config();
  config.search = Search::racing;
  config.budget_s = 1;
  const LocalSweep sweep = sweep_with(Fault::none, config, {.launch = "test", .budget_s = 1});
  EXPECT_TRUE(in_table(sweep, "mesh") || in_table(sweep, "two_shot") || in_table(sweep, "naive"));
}

}  // namespace
}  // namespace attune::driver
