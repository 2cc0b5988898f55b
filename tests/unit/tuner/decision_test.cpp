// Who wins at one size: ties, noise, the vendor's right of way, numerics, objectives, exclusions.
#include "tuner/decision.h"

#include <gtest/gtest.h>

#include "tests/unit/tuner/synthetic.h"

namespace attune::tuner {
namespace {

using testing::Journalist;
using testing::mesh;
using testing::two_shot;
using testing::vendor;
const Plan mesh2{.variant = "mesh", .blocks = 2};
const Plan ring{.variant = "ring"};

Decision decided(const Journalist& journal, const DecisionOptions& options = {}) {
  const auto gathered = gather(journal.records, options.numerics, options.filter);
  const Excluded excluded(gathered.at(0));
  return decide(gathered.at(0).sizes.at(0), excluded, testing::facts, options).value();
}

std::string chosen(const std::vector<std::pair<Plan, double>>& times, double noise = 0.005,
                   const DecisionOptions& options = {}) {
  Journalist journal;
  journal.measure(4096, times, noise);
  const Plan plan = decided(journal, options).chosen;
  return plan.variant + std::to_string(plan.blocks);
}

TEST(Decide, AClearWinnerWins) {
  EXPECT_EQ(chosen({{vendor, 2}, {mesh, 1}, {two_shot, 1.5}}), "mesh1");
  EXPECT_EQ(chosen({{vendor, 1}, {mesh, 1.2}, {two_shot, 1.5}}), "vendor1");
  EXPECT_EQ(chosen({{mesh, 1.2}, {two_shot, 1.1}}), "two_shot1") << "without the vendor in the run";
}

TEST(Decide, TiesGoToTheVendorThenToFewerBlocksThenToTheSimpler) {
  EXPECT_EQ(chosen({{vendor, 1.01}, {mesh, 1}}, 0.0005), "vendor1");
  EXPECT_EQ(chosen({{vendor, 1.04}, {mesh, 1}}, 0.0005), "mesh1");
  EXPECT_EQ(chosen({{vendor, 2}, {mesh2, 1}, {two_shot, 1.01}}, 0.0005), "two_shot1");
  EXPECT_EQ(chosen({{vendor, 2}, {mesh, 1.01}, {two_shot, 1}}, 0.0005), "mesh1");
  EXPECT_EQ(chosen({{vendor, 2}, {mesh, 1.04}, {two_shot, 1}}, 0.0005), "two_shot1");
  EXPECT_EQ(chosen({{vendor, 2}, {mesh, 1.04}, {two_shot, 1}}, 0.0005, {.tie = 0.05}), "mesh1");
}

TEST(Decide, NoiseLeavesTheVendorInPlace) {
  EXPECT_EQ(chosen({{vendor, 1.05}, {mesh, 1}}, 0.5), "vendor1");
  Journalist journal;
  journal.rounds = 2;
  journal.calls = 2;
  journal.measure(4096, {{vendor, 2}, {mesh, 1}});
  EXPECT_EQ(decided(journal).chosen, vendor) << "four samples prove nothing";
}

TEST(Decide, FewSamplesSufficeWhereTheyAreFarApart) {
  const auto choice = [](double vendor_us, int rounds, int calls) {
    Journalist journal;
    journal.rounds = rounds;
    journal.calls = calls;
    journal.measure(4096, {{vendor, vendor_us}, {mesh, 1}});
    return decided(journal).chosen;
  };
  EXPECT_EQ(choice(8, 2, 3), mesh) << "six samples below six: by chance once in 924";
  EXPECT_EQ(choice(1.3, 2, 3), vendor) << "so near, drift between the rounds would do";
  EXPECT_EQ(choice(8, 1, 6), vendor) << "one round is one moment";
}

/// An interrupt in the middle of few samples widens every interval; what is four times as fast is still told apart.
TEST(Decide, AnOutlierAmongFewSamplesDecidesNothing) {
  Journalist journal;
  journal.rounds = 3;
  journal.measure(4096, {{vendor, 4}, {mesh, 1}});
  journal.records[1].samples_us[0] = 400;
  EXPECT_EQ(decided(journal).chosen, mesh);
}

TEST(Decide, OnlyAdmittedNumericsCompete) {
  EXPECT_EQ(chosen({{vendor, 2}, {mesh, 1.5}, {ring, 1}}), "mesh1");
  EXPECT_EQ(chosen({{vendor, 2}, {mesh, 1.5}, {ring, 1}}, 0.005, {.numerics = Numerics::per_hop}), "ring1");
  EXPECT_EQ(chosen({{vendor, 2}, {mesh, 1.5}, {ring, 1}}, 0.005, {.numerics = Numerics::vendor}), "vendor1");
}

TEST(Decide, TheVendorsOwnAlgorithmsCompeteToo) {
  EXPECT_EQ(chosen({{vendor, 2}, {{.variant = "vendor:openmpi/ring"}, 1}}), "vendor:openmpi/ring1");
}

TEST(Decide, ObjectiveBlocksTakesTheFewestWithinTheSlack) {
  const DecisionOptions options{.objective = Objective::blocks, .slack = 0.3};
  const Plan mesh4{.variant = "mesh", .blocks = 4};
  EXPECT_EQ(chosen({{vendor, 2}, {mesh4, 1}, {mesh2, 1.2}, {mesh, 1.5}}, 0.005, options), "mesh2");
  EXPECT_EQ(chosen({{vendor, 1.25}, {mesh4, 1}, {mesh2, 1.2}}, 0.005, options), "vendor1");
  EXPECT_EQ(chosen({{vendor, 2}, {mesh4, 1}, {mesh2, 1.2}, {mesh, 1.5}}), "mesh4");
}

TEST(Decide, FreshTimesDecideWhenThereAreAny) {
  Journalist journal;
  journal.measure(4096, {{vendor, 2}, {mesh, 1}, {two_shot, 1.2}, {mesh2, 0.9}});  // lucky times
  journal.stage = Stage::confirm;
  journal.measure(4096, {{vendor, 2}, {mesh, 1.5}, {two_shot, 1.2}});
  const Decision decision = decided(journal);
  EXPECT_EQ(decision.chosen, two_shot);
  EXPECT_EQ(decision.runner_up, mesh);
  EXPECT_NEAR(decision.to_runner_up.ratio, 0.8, 0.01);
  EXPECT_FALSE(decision.find(mesh2)->contends);
  EXPECT_EQ(decision.find(two_shot)->confidence, Confidence::high);
}

TEST(Decide, FlagsReachTheConfidence) {
  const auto confidence = [](auto change) {
    Journalist journal;
    journal.measure(4096, {{vendor, 2}, {mesh, 1}});
    change(journal);
    return decided(journal).find(mesh)->confidence;
  };
  EXPECT_EQ(confidence([](Journalist&) {}), Confidence::medium);
  EXPECT_EQ(confidence([](Journalist& journal) { journal.records.back().noisy = true; }), Confidence::low);
  EXPECT_EQ(confidence([](Journalist& journal) { journal.records.back().converged = false; }), Confidence::low);
  EXPECT_EQ(confidence([](Journalist& journal) { journal.records[1].oversubscribed = true; }), Confidence::low);
  EXPECT_EQ(confidence([](Journalist& journal) { journal.records[0].noisy = true; }), Confidence::low)
      << "the vendor's noise";
  EXPECT_EQ(confidence([](Journalist& journal) {
              journal.launch = "second";
              journal.measure(4096, {{vendor, 2}, {mesh, 1}});
            }),
            Confidence::high);
}

TEST(Excluded, AWrongVariantIsOutAtEverySizeAHangingPlanTooAnUnsupportedCellOnlyThere) {
  Journalist journal;
  journal.measure(8, {{mesh, 1}, {two_shot, 1}, {ring, 1}})
      .measure(4096, {{mesh, 1}, {mesh2, 1}, {two_shot, 1}, {ring, 1}});
  for (Record& record : journal.records) {
    if (record.problem.bytes() != 8) continue;
    record.reason = "because";
    record.status = record.plan == mesh       ? CellStatus::wrong
                    : record.plan == two_shot ? CellStatus::timed_out
                                              : CellStatus::unsupported;
  }
  const auto gathered = gather(journal.records, Numerics::rank_order, {});
  const Excluded excluded(gathered.at(0));
  EXPECT_TRUE(excluded.contains(mesh));
  EXPECT_TRUE(excluded.contains(mesh2)) << "same variant";
  EXPECT_TRUE(excluded.contains(two_shot));
  EXPECT_FALSE(excluded.contains({.variant = "two_shot", .blocks = 2}));
  EXPECT_FALSE(excluded.contains(ring));
  ASSERT_EQ(excluded.reasons().size(), 2U);
  EXPECT_EQ(excluded.reasons()[0], "mesh is out: wrong at 8 bytes (because)");
  EXPECT_FALSE(decide(gathered[0].sizes[0], excluded, testing::facts, {})) << "nothing is left at 8 bytes";
}

}  // namespace
}  // namespace attune::tuner
