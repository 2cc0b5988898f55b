// Records become cells: launches merged, fresh samples preferred, comparisons paired.
#include "tuner/cells.h"

#include <gtest/gtest.h>

#include "tests/unit/tuner/synthetic.h"

namespace attune::tuner {
namespace {

using testing::Journalist;
using testing::mesh;
using testing::vendor;

const Cell& cell_of(const std::vector<KeyCells>& gathered, const Plan& plan) {
  return *gathered.at(0).sizes.at(0).find(plan);
}

TEST(Gather, SortsByKeyAndSize) {
  Journalist journal;
  journal.measure(4096, {{mesh, 2}}).measure(8, {{mesh, 1}});
  journal.records.push_back(journal.records.back());
  journal.records.back().problem.dtype = DType::f64;
  const auto gathered = gather(journal.records, Numerics::rank_order, {});
  ASSERT_EQ(gathered.size(), 2U);
  EXPECT_EQ(gathered[0].key.dtype, DType::f64);
  ASSERT_EQ(gathered[1].sizes.size(), 2U);
  EXPECT_EQ(gathered[1].sizes[0].problem.bytes(), 8);
}

TEST(Gather, NeverMixesModesOrCacheStates) {
  Journalist journal;
  journal.measure(8, {{mesh, 1}});
  auto hot = journal.records;
  for (Record& record : hot) record.cache = CacheState::hot, record.samples_us = {100};
  auto throughput = journal.records;
  for (Record& record : throughput) record.mode = Mode::throughput, record.samples_us = {0.1};
  for (const auto& more : {hot, throughput}) journal.records.insert(journal.records.end(), more.begin(), more.end());
  const auto median_with = [&](const RecordFilter& filter) {
    return time_of(cell_of(gather(journal.records, Numerics::rank_order, filter), mesh), 0.99).median_us;
  };
  EXPECT_NEAR(median_with({}), 1, 0.05);
  EXPECT_EQ(median_with({.cache = CacheState::hot}), 100);
  EXPECT_EQ(median_with({.mode = Mode::throughput}), 0.1);
}

TEST(Gather, FreshSamplesReplaceTheSearchs) {
  Journalist journal;
  journal.measure(8, {{mesh, 1}});
  journal.stage = Stage::confirm;
  journal.measure(8, {{mesh, 1.5}});
  const auto gathered = gather(journal.records, Numerics::rank_order, {});
  const Cell& cell = cell_of(gathered, mesh);
  EXPECT_TRUE(cell.fresh);
  EXPECT_NEAR(time_of(cell, 0.99).median_us, 1.5, 0.05);
  EXPECT_EQ(time_of(cell, 0.99).samples, 36);
}

TEST(Gather, TheLastBlockSaysWhetherItConverged) {
  Journalist journal;
  journal.measure(8, {{mesh, 1}});
  journal.records.front().converged = false;
  EXPECT_TRUE(cell_of(gather(journal.records, Numerics::rank_order, {}), mesh).converged);
  journal.records.back().converged = false;
  EXPECT_FALSE(cell_of(gather(journal.records, Numerics::rank_order, {}), mesh).converged);
}

TEST(Gather, OneDisturbedBlockIsNotANoisyCell) {
  Journalist journal;
  journal.measure(8, {{mesh, 1}});
  const auto noisy = [&] { return cell_of(gather(journal.records, Numerics::rank_order, {}), mesh).noisy; };
  journal.records[0].noisy = true;
  journal.records[0].rejected = 3;
  EXPECT_FALSE(noisy()) << "3 of 39 calls";
  for (Record& record : journal.records) record.rejected = 1;
  EXPECT_TRUE(noisy()) << "12 of 48 calls";
  for (Record& record : journal.records) record.rejected = 0;
  EXPECT_TRUE(noisy()) << "one that says so without counting";
}

TEST(Gather, WrongOutranksOtherFaults) {
  Journalist journal;
  journal.rounds = 3;
  journal.measure(8, {{mesh, 1}});
  journal.records[0].status = CellStatus::timed_out;
  journal.records[1].status = CellStatus::wrong;
  journal.records[1].reason = "index 5";
  const auto gathered = gather(journal.records, Numerics::rank_order, {});
  EXPECT_EQ(cell_of(gathered, mesh).status, CellStatus::wrong);
  EXPECT_EQ(cell_of(gathered, mesh).reason, "index 5");
}

TEST(TimeOf, LaunchesAreTheUnitOfReplication) {
  Journalist journal;
  for (const double level : {1.0, 1.1, 1.2}) {
    journal.launch = "at " + std::to_string(level);
    journal.measure(8, {{mesh, level}}, 0.001);
  }
  const auto gathered = gather(journal.records, Numerics::rank_order, {});
  const CellTime time = time_of(cell_of(gathered, mesh), 0.99);
  EXPECT_EQ(time.launches, 3);
  EXPECT_NEAR(time.median_us, 1.1, 0.005);
  EXPECT_LE(time.ci_us->low, 1.001);
  EXPECT_GE(time.ci_us->high, 1.199);
}

TEST(Compare, DriftThatRoundsShareCancels) {
  Journalist journal;
  journal.drift = 0.3;
  journal.measure(8, {{mesh, 1.00}, {vendor, 1.05}}, 0.005);
  const auto gathered = gather(journal.records, Numerics::rank_order, {});
  const Comparison paired = compare(cell_of(gathered, mesh), cell_of(gathered, vendor), 0.99);
  EXPECT_EQ(paired.pairs, 12);
  EXPECT_TRUE(paired.surely_less());
  EXPECT_NEAR(paired.ratio, 1 / 1.05, 0.01);
  // The same samples out of step: rounds no longer pair, and the drift hides the difference.
  auto records = journal.records;
  for (Record& record : records)
    if (record.plan == vendor) record.block += 100;
  const auto apart = gather(records, Numerics::rank_order, {});
  EXPECT_FALSE(compare(cell_of(apart, mesh), cell_of(apart, vendor), 0.99).surely_less());
}

TEST(Compare, LaunchesThatDisagreeLeaveItOpen) {
  Journalist journal;
  journal.measure(8, {{mesh, 1.00}, {vendor, 1.10}}, 0.001);
  journal.launch = "second";
  journal.measure(8, {{mesh, 1.02}, {vendor, 1.00}}, 0.001);
  const auto gathered = gather(journal.records, Numerics::rank_order, {});
  const Comparison comparison = compare(cell_of(gathered, mesh), cell_of(gathered, vendor), 0.99);
  EXPECT_FALSE(comparison.surely_less());
  EXPECT_FALSE(comparison.surely_more());
}

TEST(Compare, EightLaunchesPairByLaunch) {
  Journalist journal;
  journal.rounds = 2;
  for (int launch = 0; launch < 8; ++launch) {
    journal.launch = std::to_string(launch);
    journal.measure(8, {{mesh, 1.00 + 0.1 * launch}, {vendor, 1.2 * (1.00 + 0.1 * launch)}}, 0.01);
  }
  const auto gathered = gather(journal.records, Numerics::rank_order, {});
  const Comparison comparison = compare(cell_of(gathered, mesh), cell_of(gathered, vendor), 0.99);
  EXPECT_EQ(comparison.pairs, 8);
  EXPECT_TRUE(comparison.surely_less());
}

TEST(Compare, ShapesOfEqualBytesShareACellButNotTheirRounds) {
  Journalist journal;
  journal.measure(4096, {{mesh, 1}, {vendor, 1.2}}, 0.001);
  auto other = journal.records;
  for (Record& record : other) record.problem.rows = 32, record.problem.cols = 32;
  journal.records.insert(journal.records.end(), other.begin(), other.end());
  const auto gathered = gather(journal.records, Numerics::rank_order, {});
  ASSERT_EQ(gathered[0].sizes.size(), 1U);
  EXPECT_EQ(compare(cell_of(gathered, mesh), cell_of(gathered, vendor), 0.99).pairs, 24);
}

}  // namespace
}  // namespace attune::tuner
