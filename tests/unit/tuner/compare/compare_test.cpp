/// Old against new: that a difference is told only where the intervals allow it, and that tables are walked to the
/// byte.
#include "tuner/compare/compare.h"

#include <gtest/gtest.h>

#include "synthetic.h"

namespace attune::tuner {
namespace {

using testing::Journalist;
const Plan vendor{.variant = "vendor"}, mesh{.variant = "mesh"}, two_shot{.variant = "two_shot"};

Side side(const Journalist& journal) { return {journal.records, {}}; }

TEST(CompareRuns, OnlyWhatIsBeyondTheNoiseIsFasterOrSlower) {
  Journalist before(1), after(2);
  after.launch = "second";
  before.measure(1024, {{vendor, 10}, {mesh, 5}}).measure(4096, {{vendor, 20}});
  after.measure(1024, {{vendor, 10.02}, {mesh, 3}}).measure(8192, {{vendor, 30}});
  const auto compared = compare_runs(side(before), side(after), pick_all(), pick_all(), true, 0.99);
  ASSERT_EQ(compared.cells.size(), 2U);
  EXPECT_EQ(compared.only_old, 1U);
  EXPECT_EQ(compared.only_new, 1U);
  for (const auto& cell : compared.cells) {
    EXPECT_FALSE(cell.paired) << "two runs share no round";
    const bool is_mesh = cell.old_plan == mesh;
    EXPECT_EQ(cell.verdict, is_mesh ? Verdict::faster : Verdict::equal);
    EXPECT_NEAR(cell.ratio.ratio, is_mesh ? 0.6 : 1.0, 0.02);
  }
}

TEST(CompareRuns, AMachineIsEqualToItself) {
  int wrong = 0;
  int unsure = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Journalist before(2 * seed);
    Journalist after(2 * seed + 1);
    before.measure(1024, {{mesh, 5}}, 0.2);
    after.measure(1024, {{mesh, 5}}, 0.2);
    const auto compared = compare_runs(side(before), side(after), pick_all(), pick_all(), true, 0.99);
    const Verdict verdict = compared.cells.at(0).verdict;
    wrong += verdict == Verdict::faster || verdict == Verdict::slower ? 1 : 0;
    unsure += verdict == Verdict::unsure ? 1 : 0;
  }
  EXPECT_LE(wrong, 1) << "of 100 comparisons of a machine with itself";
  EXPECT_EQ(unsure, 0);
}

TEST(CompareRuns, ASingleNumberIsNoEvidence) {
  Journalist run(1);
  run.measure(1024, {{mesh, 5}, {vendor, 9}});
  Side log{{Record{.problem = testing::problem_of(1024), .plan = vendor, .launch = "log", .samples_us = {50}}}, {}};
  const auto compared = compare_runs(log, side(run), pick_tuned(std::nullopt), pick_tuned(std::nullopt), false, 0.99);
  ASSERT_EQ(compared.cells.size(), 1U);
  EXPECT_EQ(compared.cells[0].new_plan, mesh) << "without a table the fastest stands for the run";
  EXPECT_EQ(compared.cells[0].verdict, Verdict::unsure);
  EXPECT_NEAR(compared.cells[0].ratio.ratio, 0.1, 0.01);
}

TEST(CompareRuns, TheTablesChoiceStandsForARun) {
  Journalist run(1);
  run.measure(1024, {{mesh, 5}, {vendor, 9}});
  Table table;
  table.tables.push_back({key_of(testing::problem_of(1024), Numerics::rank_order), {{.plan = vendor}}});
  const auto compared = compare_runs(side(run), side(run), pick_tuned(table), pick_tuned(std::nullopt), false, 0.99);
  ASSERT_EQ(compared.cells.size(), 1U);
  EXPECT_EQ(compared.cells[0].old_plan, vendor);
  EXPECT_EQ(compared.cells[0].new_plan, mesh);
}

TEST(CompareRuns, LogsThatDoNotSayHowMemoryWasAreMatchedLoosely) {
  Journalist run(1);
  run.measure(1024, {{mesh, 5}});
  Side log{{Record{.problem = testing::problem_of(1024), .plan = vendor, .launch = "log", .samples_us = {50}}}, {}};
  log.records[0].problem.memory = Memory::staged;
  log.records[0].problem.launch_mode = LaunchMode::graph;
  EXPECT_TRUE(compare_runs(log, side(run), pick_tuned({}), pick_tuned({}), false, 0.99).cells.empty());
  EXPECT_EQ(compare_runs(loosened(log), loosened(side(run)), pick_tuned({}), pick_tuned({}), false, 0.99).cells.size(),
            1U);
}

TEST(CompareVariants, OfOneRunByPairedRounds) {
  Journalist run(1);
  run.drift = 0.5;  // both drift together: only pairs can tell
  run.measure(1024, {{mesh, 5}, {two_shot, 4.5}}, 0.01);
  const auto compared = compare_picks(side(run), pick_variant("mesh"), pick_variant("two_shot"), 0.99);
  ASSERT_EQ(compared.cells.size(), 1U);
  EXPECT_TRUE(compared.cells[0].paired);
  EXPECT_EQ(compared.cells[0].verdict, Verdict::faster);
  EXPECT_EQ(compare_picks(side(run), pick_variant("mesh"), pick_variant("ring"), 0.99).only_old, 1U);
}

/// Few rounds, or none in common, or many launches: whatever interval there is, the ratio beside it lies inside.
TEST(CompareVariants, ARatioIsInsideItsOwnInterval) {
  int with_interval = 0;
  for (const int rounds : {1, 2, 5, 7, 8, 12})
    for (const int launches : {1, 2, 9})
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Journalist run(seed);
        run.rounds = rounds;
        run.calls = 12;
        run.drift = 0.3;
        for (int launch = 0; launch < launches; ++launch) {
          run.launch = std::to_string(launch);
          run.measure(1024, {{mesh, 5}, {two_shot, 5.5}}, 0.1);
        }
        const auto compared = compare_picks(side(run), pick_variant("mesh"), pick_variant("two_shot"), 0.99);
        const Comparison& ratio = compared.cells.at(0).ratio;
        if (!ratio.ci) continue;
        ++with_interval;
        EXPECT_TRUE(ratio.ci->contains(ratio.ratio))
            << ratio.ratio << " in [" << ratio.ci->low << ", " << ratio.ci->high << "], " << rounds << " rounds, "
            << launches << " launches";
      }
  EXPECT_GT(with_interval, 100);
}

Table table_of_rules(const std::vector<Rule>& rules) {
  Table table;
  table.tables.push_back({TableKey{}, rules});
  return table;
}

TEST(CompareTables, RangesThatChangedAndNoOthers) {
  const Table before =
      table_of_rules({{.min_bytes = 0, .plan = vendor},
                      {.min_bytes = 1024, .plan = mesh, .time_us = 4, .ci_us = {3.9, 4.1}, .at_bytes = 1024},
                      {.min_bytes = 8192, .plan = two_shot}});
  const Table after =
      table_of_rules({{.min_bytes = 0, .plan = vendor},
                      {.min_bytes = 512, .plan = mesh},
                      {.min_bytes = 1024, .plan = two_shot, .time_us = 2, .ci_us = {1.9, 2.1}, .at_bytes = 1024}});
  const auto changes = compare_tables(before, after);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].from, 512);
  EXPECT_EQ(changes[0].to, 1024);
  EXPECT_FALSE(changes[0].ratio) << "these rules say no times";
  EXPECT_EQ(changes[1].from, 1024);
  EXPECT_EQ(changes[1].to, 8192);
  EXPECT_DOUBLE_EQ(*changes[1].ratio, 0.5);
  EXPECT_LT(changes[1].ci->high, 1);
  EXPECT_TRUE(compare_tables(before, before).empty());
}

TEST(CompareTables, TimesAtOtherSizesGoThroughTheVendor) {
  const Table before = table_of_rules({{.plan = mesh, .time_us = 4, .vendor_us = 8, .at_bytes = 8}});
  const Table after = table_of_rules({{.plan = two_shot, .time_us = 10, .vendor_us = 40, .at_bytes = 64}});
  const auto changes = compare_tables(before, after);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_TRUE(changes[0].via_vendor);
  EXPECT_DOUBLE_EQ(*changes[0].ratio, 0.5);
  EXPECT_FALSE(changes[0].to);
}

TEST(CompareTables, KeysOfOneSideAreWholeChanges) {
  Table after = table_of_rules({{.plan = mesh}});
  after.tables[0].key.ranks = 4;
  const auto changes = compare_tables(table_of_rules({{.plan = vendor}, {.min_bytes = 64, .plan = mesh}}), after);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_FALSE(changes[0].new_rule);
  EXPECT_EQ(changes[0].to, 64);
  EXPECT_FALSE(changes[2].old_rule);
}

TEST(CompareTables, ARunSaysWhatTheChangeMeans) {
  Journalist run(1);
  run.measure(1024, {{mesh, 5}, {two_shot, 4}}).measure(64, {{mesh, 5}, {two_shot, 4}});
  auto changes = compare_tables(table_of_rules({{.plan = mesh}}),
                                table_of_rules({{.plan = mesh}, {.min_bytes = 512, .plan = two_shot}}));
  add_evidence(changes, side(run), 0.99);
  ASSERT_EQ(changes.size(), 1U);
  ASSERT_EQ(changes[0].measured.size(), 1U) << "64 bytes did not change";
  EXPECT_EQ(changes[0].measured[0].verdict, Verdict::faster);
}

}  // namespace
}  // namespace attune::tuner
