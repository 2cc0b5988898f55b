// What is expected of plans at sizes where they were not measured.
#include "tuner/prospects.h"

#include <gtest/gtest.h>

#include "tests/unit/tuner/scripted.h"

namespace attune::tuner {
namespace {

using testing::mesh;
using testing::Scripted;
using testing::two_shot;
using testing::vendor;
const Plan mesh8{.variant = "mesh", .blocks = 8};
const Plan chunked{.variant = "two_shot", .chunk_bytes = 65536};
const Plan push{.variant = "push"};

/// two_shot gains on mesh with the size, mesh8 is three times as slow as mesh.
double gaining(const Plan& plan, Bytes bytes) {
  const double base = static_cast<double>(bytes) / 100;
  if (plan.variant == "vendor") return 5 * base;
  if (plan.variant == "two_shot") return base + 10;
  return plan.blocks == 8 ? 3 * base : base;
}

struct Lessons {
  Scripted runner{gaining, 1e-4};
  Session session{runner, {.launch = "L"}, {}};

  Lessons& measure(const Problem& problem, const std::vector<Plan>& plans) {
    session.round(problem, plans, 3, Stage::search);
    return *this;
  }
  std::map<Plan, double> ratios(const Problem& problem, const std::vector<Plan>& plans) {
    std::map<Plan, double> found;
    for (const Prospect& prospect : prospects(session, problem, plans)) found[prospect.plan] = prospect.ratio;
    return found;
  }
};

TEST(Prospects, TheVendorFirstThenTheMostPromising) {
  Lessons lessons;
  lessons.measure(testing::problem_of(1000), {mesh8, two_shot, mesh, vendor});
  const auto found = prospects(lessons.session, testing::problem_of(4000), {mesh8, two_shot, mesh, vendor});
  std::vector<Plan> order;
  for (const Prospect& prospect : found) order.push_back(prospect.plan);
  EXPECT_EQ(order, (std::vector<Plan>{vendor, mesh, two_shot, mesh8}));
}

TEST(Prospects, WhatGainsGoesOnGainingButDoesNotOvertakeTheWinner) {
  Lessons lessons;
  lessons.measure(testing::problem_of(100), {mesh, two_shot}).measure(testing::problem_of(1000), {mesh, two_shot});
  auto ratios = lessons.ratios(testing::problem_of(10000), {mesh, two_shot});
  EXPECT_NEAR(ratios[mesh], 1, 0.01);
  EXPECT_NEAR(ratios[two_shot], 1.1, 0.01) << "2 there, 11 before";
  lessons.measure(testing::problem_of(100000), {mesh, two_shot});
  ratios = lessons.ratios(testing::problem_of(10000), {mesh, two_shot});
  EXPECT_NEAR(ratios[two_shot], 1.01, 0.01) << "the better of both sides";
  for (const Prospect& prospect : prospects(lessons.session, testing::problem_of(10000), {two_shot}))
    EXPECT_NEAR(prospect.likely, std::sqrt(2 * 1.01), 0.01) << "halfway between them";
}

/// The nearest size may have tried few plans: the others are judged by the nearest that tried them, not by their kin.
TEST(Prospects, APlanIsJudgedWhereItWasMeasured) {
  Lessons lessons;
  for (const Bytes bytes : {250, 1000}) lessons.measure(testing::problem_of(bytes), {mesh, mesh8, vendor});
  lessons.measure(testing::problem_of(4000), {mesh, vendor});
  EXPECT_NEAR(lessons.ratios(testing::problem_of(16000), {mesh, mesh8})[mesh8], 3, 0.05);
}

/// Blocks cost a fixed time: hopeless at small sizes, eight of them win where one takes as long. Whoever judges by the
/// ratio where they were tried last never tries them again.
TEST(Prospects, WhatCostsAFixedTimeGetsItsChanceWhereTheBestTakesAsLong) {
  Scripted runner(
      [](const Plan& plan, Bytes bytes) {
        const auto size = static_cast<double>(bytes);
        return plan.blocks == 8 ? 8 + size / 8000 : 1 + size / 1000;
      },
      1e-4);
  Session session(runner, {.launch = "L"}, {});
  const auto ratio_of_mesh8 = [&](Bytes bytes) {
    for (const Prospect& prospect : prospects(session, testing::problem_of(bytes), {mesh, mesh8}))
      if (prospect.plan == mesh8) return prospect.ratio;
    return 0.0;
  };
  session.round(testing::problem_of(64), std::vector<Plan>{mesh, mesh8}, 3, Stage::search);
  EXPECT_GT(ratio_of_mesh8(256), 5);
  for (Bytes bytes = 256; bytes <= 4096; bytes *= 4)
    session.round(testing::problem_of(bytes), std::vector<Plan>{mesh}, 3, Stage::search);
  EXPECT_NEAR(ratio_of_mesh8(16384), 1.1, 0.01) << "it takes 10 there, mesh 17";
}

TEST(Prospects, NewPlansAreJudgedByTheirKinAndStrangersAreGivenAChance) {
  Lessons lessons;
  lessons.measure(testing::problem_of(1000), {mesh, two_shot});
  auto ratios = lessons.ratios(testing::problem_of(4000), {chunked, push});
  EXPECT_NEAR(ratios[chunked], 2 * 1.2, 0.05);
  EXPECT_NEAR(ratios[push], 1.2, 0.01);
}

TEST(Prospects, TablesOfTheSameMemoryAndPlacementTellOfEachOther) {
  Lessons lessons;
  lessons.measure(testing::problem_of(4000), {mesh, mesh8});
  Problem other = testing::problem_of(4000);
  other.op = Op::max;
  other.dtype = DType::f64, other.count = 500;
  EXPECT_TRUE(related(other, testing::problem_of(64)));
  EXPECT_NEAR(lessons.ratios(other, {mesh8})[mesh8], 3, 0.05);
  other.memory = Memory::staged;
  EXPECT_FALSE(related(other, testing::problem_of(64)));
  EXPECT_NEAR(lessons.ratios(other, {mesh8})[mesh8], 1.2, 0.01);
}

}  // namespace
}  // namespace attune::tuner
