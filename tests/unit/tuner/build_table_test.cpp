// From records to rules: compaction, crossovers, hysteresis, evidence.
#include "tuner/build_table.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/unit/tuner/synthetic.h"

namespace attune::tuner {
namespace {

using testing::Journalist;
using testing::mesh;
using testing::two_shot;
using testing::vendor;

std::vector<Rule> rules_of(const std::vector<Record>& records, const Table* previous = nullptr,
                           const DecisionOptions& options = {}) {
  const auto tuned = tune(records, testing::facts, options, previous);
  const Table table = table_of(tuned, {.fingerprint = "f"}, {}, {});
  EXPECT_EQ(parse_table(to_text(table), "written", {}), table) << "what is built can be loaded";
  return table.tables.at(0).rules;
}

/// "0 mesh1, 4096 two_shot1"
std::string text_of(const std::vector<Rule>& rules) {
  std::string text;
  for (const Rule& rule : rules)
    text += (text.empty() ? "" : ", ") + std::to_string(rule.min_bytes) + " " + rule.plan.variant +
            std::to_string(rule.plan.blocks);
  return text;
}

TEST(BuildTable, OneWinnerIsOneRule) {
  Journalist journal;
  for (Bytes bytes = 8; bytes <= 1 << 20; bytes *= 4) journal.measure(bytes, {{vendor, 2}, {mesh, 1}, {two_shot, 1.5}});
  const auto rules = rules_of(journal.records);
  EXPECT_EQ(text_of(rules), "0 mesh1");
  EXPECT_NEAR(rules[0].time_us, 1, 0.02);
  EXPECT_NEAR(rules[0].vendor_us, 2, 0.04);
  EXPECT_LT(rules[0].ci_us[0], rules[0].time_us);
  EXPECT_EQ(rules[0].at_bytes, 8);
  EXPECT_EQ(rules[0].samples, 36);
  EXPECT_EQ(rules[0].launches, 1);
  EXPECT_EQ(rules[0].confidence, Confidence::medium);
}

/// mesh = 1 + b/1024, two_shot = 3 + b/4096: equal at 2730 bytes, between the measured 1024 and 4096.
TEST(BuildTable, ARuleBeginsWhereTheTimesCross) {
  Journalist journal;
  for (Bytes bytes = 64; bytes <= 1 << 18; bytes *= 4) {
    const auto b = static_cast<double>(bytes);
    journal.measure(bytes, {{vendor, 50 + b}, {mesh, 1 + b / 1024}, {two_shot, 3 + b / 4096}}, 0.001);
  }
  const auto rules = rules_of(journal.records);
  ASSERT_EQ(text_of(rules).substr(0, 8), "0 mesh1,");
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_NEAR(static_cast<double>(rules[1].min_bytes), 2730, 500);
  EXPECT_EQ(rules[1].min_bytes % 4, 0);
  EXPECT_EQ(rules[1].at_bytes, 4096);
}

TEST(BuildTable, APlanMeasuredOnOneSideOnlyBeginsAtTheGeometricMiddle) {
  Journalist journal;
  journal.measure(1024, {{vendor, 9}, {mesh, 1}}).measure(4096, {{vendor, 9}, {two_shot, 1}});
  EXPECT_EQ(text_of(rules_of(journal.records)), "0 mesh1, 2048 two_shot1");
}

TEST(BuildTable, ALossInsideTheTieBuysFewerRules) {
  Journalist journal;
  journal.measure(64, {{vendor, 9}, {mesh, 1}, {two_shot, 1.1}}, 0.0005);
  journal.measure(256, {{vendor, 9}, {mesh, 1.01}, {two_shot, 1}}, 0.0005);  // two_shot leads by less than the tie
  journal.measure(1024, {{vendor, 9}, {mesh, 1}, {two_shot, 1.1}}, 0.0005);
  EXPECT_EQ(text_of(rules_of(journal.records)), "0 mesh1");
  Journalist beyond;
  beyond.measure(64, {{vendor, 9}, {mesh, 1}, {two_shot, 1.1}}, 0.0005);
  beyond.measure(256, {{vendor, 9}, {mesh, 1.05}, {two_shot, 1}}, 0.0005);
  beyond.measure(1024, {{vendor, 9}, {mesh, 1}, {two_shot, 1.1}}, 0.0005);
  EXPECT_EQ(rules_of(beyond.records).size(), 3U) << "crossovers need not be monotone";
}

TEST(BuildTable, CompactionNeverTradesTheVendorForASlowerPlan) {
  Journalist journal;
  journal.measure(64, {{vendor, 2}, {mesh, 1}}, 0.0005);
  journal.measure(256, {{vendor, 1}, {mesh, 1.01}}, 0.0005);
  EXPECT_EQ(rules_of(journal.records).back().plan, vendor);
}

/// With equal numbers of rules the decided plan stays: the vendor in a tie, although the other is a hair faster.
TEST(BuildTable, ATieEverywhereIsTheVendors) {
  Journalist journal;
  for (const Bytes bytes : {64, 256, 1024}) journal.measure(bytes, {{vendor, 1.01}, {mesh, 1}}, 0.0005);
  EXPECT_EQ(text_of(rules_of(journal.records)), "0 vendor1");
}

TEST(BuildTable, HysteresisKeepsWhatIsStillGood) {
  Journalist journal;
  for (const Bytes bytes : {64, 256, 1024, 4096})
    journal.measure(bytes, {{vendor, 9}, {mesh, 1.00}, {two_shot, bytes < 4096 ? 1.015 : 1.5}}, 0.0005);
  EXPECT_EQ(text_of(rules_of(journal.records)), "0 mesh1");
  Table previous;
  previous.hardware.fingerprint = "f";
  previous.tables = {{key_of(testing::problem_of(64), Numerics::rank_order),
                      {{.min_bytes = 0, .plan = two_shot}, {.min_bytes = 2000, .plan = mesh}}}};
  EXPECT_EQ(text_of(rules_of(journal.records, &previous)), "0 two_shot1, 2000 mesh1") << "its boundary stays, too";
  previous.tables[0].rules[1].min_bytes = 4097;  // two_shot at 4096 is no longer good enough
  EXPECT_EQ(text_of(rules_of(journal.records, &previous)), "0 two_shot1, 1028 mesh1");
  previous.tables[0].rules = {{.min_bytes = 0, .plan = {.variant = "gone"}}};
  EXPECT_EQ(text_of(rules_of(journal.records, &previous)), "0 mesh1");
}

TEST(BuildTable, AWrongPlanNeverEntersATable) {
  Journalist journal;
  journal.measure(64, {{vendor, 2}, {mesh, 1}}).measure(256, {{vendor, 2}, {mesh, 1}});
  journal.records.back().status = CellStatus::wrong;
  const auto tuned = tune(journal.records, testing::facts, {}, nullptr);
  EXPECT_EQ(text_of(rules_of(journal.records)), "0 vendor1");
  ASSERT_EQ(tuned[0].notes.size(), 1U);
  EXPECT_NE(tuned[0].notes[0].find("mesh is out: wrong at 256 bytes"), std::string::npos);
}

/// Four samples prove nothing by themselves; between sizes where a plan is far ahead they need not.
TEST(BuildTable, AFewSamplesSettleWhatTheSizesAroundSay) {
  const auto rules = [](double here_us, double above_us) {
    Journalist journal;
    journal.measure(64, {{vendor, 4}, {mesh, 1}}).measure(4096, {{vendor, 4}, {mesh, above_us}});
    journal.rounds = journal.calls = 2;
    journal.measure(512, {{vendor, 4}, {mesh, here_us}, {two_shot, 1}});
    return text_of(rules_of(journal.records));
  };
  EXPECT_EQ(rules(1.3, 1), "0 mesh1") << "two_shot was faster by chance: it is not proved either";
  EXPECT_NE(rules(3.5, 1).find("vendor1"), std::string::npos) << "it is not far ahead here";
  EXPECT_NE(rules(1.3, 8).find("vendor1"), std::string::npos) << "nor there";
}

TEST(BuildTable, UnknownVariantsAreLeftOutAndNamed) {
  Journalist journal;
  journal.measure(64, {{vendor, 2}, {{.variant = "from_another_build"}, 1}});
  const auto tuned = tune(journal.records, testing::facts, {}, nullptr);
  EXPECT_EQ(text_of(rules_of(journal.records)), "0 vendor1");
  EXPECT_EQ(tuned[0].notes.at(0), "from_another_build is out: this build does not know it");
}

/// A size that was only probed must not be won by the only plan that was tried there.
TEST(BuildTable, ASizeWithoutTheVendorIsNotDecidedWhereOthersHaveIt) {
  Journalist journal;
  journal.measure(64, {{vendor, 1}, {mesh, 2}}).measure(4096, {{vendor, 1}, {mesh, 2}});
  journal.rounds = journal.calls = 1;
  journal.measure(1024, {{mesh, 2}});
  const auto tuned = tune(journal.records, testing::facts, {}, nullptr);
  EXPECT_EQ(text_of(rules_of(journal.records)), "0 vendor1");
  EXPECT_NE(tuned[0].notes.at(0).find("1024 bytes: no eligible plan"), std::string::npos);
}

/// Nor must the vendor win a size where the budget was enough for it alone.
TEST(BuildTable, ASizeWhereOnePlanAloneWasTriedIsNotDecidedWhereOthersWereCompared) {
  Journalist journal;
  journal.measure(64, {{vendor, 2}, {mesh, 1}}).measure(4096, {{vendor, 2}});
  const auto tuned = tune(journal.records, testing::facts, {}, nullptr);
  EXPECT_EQ(text_of(rules_of(journal.records)), "0 mesh1");
  EXPECT_NE(tuned[0].notes.at(0).find("the sizes around holds here"), std::string::npos);
  Journalist alone;
  alone.measure(64, {{vendor, 2}}).measure(4096, {{vendor, 2}});
  EXPECT_EQ(text_of(rules_of(alone.records)), "0 vendor1") << "nothing was compared anywhere";
}

TEST(BuildTable, NothingUsableIsAnError) {
  EXPECT_THROW((void)tune({}, testing::facts, {}, nullptr), Error);
  Journalist journal;
  journal.measure(64, {{mesh, 1}});
  for (Record& record : journal.records) record.status = CellStatus::failed;
  EXPECT_THROW((void)tune(journal.records, testing::facts, {}, nullptr), Error);
}

TEST(BuildTable, OneNoisySizeLowersItsRulesConfidence) {
  Journalist journal;
  journal.measure(64, {{vendor, 2}, {mesh, 1}}).measure(256, {{vendor, 2}, {mesh, 1}});
  journal.records.back().noisy = true;
  EXPECT_EQ(rules_of(journal.records).at(0).confidence, Confidence::low);
}

TEST(Explain, NamesWinnerRunnerUpRatioSamplesAndLaunches) {
  Journalist journal;
  journal.measure(65536, {{vendor, 2}, {mesh, 1}, {two_shot, 1.25}}, 0.001);
  const auto tuned = tune(journal.records, testing::facts, {}, nullptr);
  const std::string text = explain(tuned[0], 0.99);
  for (const char* part : {"allreduce f32 sum ranks=2", "from 0: mesh blocks=1", "64K: 1", "vendor 2",
                           "x the time of two_shot", "12 pairs", "36 samples, 1 launch, confidence medium", "0.8"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
}  // namespace attune::tuner
