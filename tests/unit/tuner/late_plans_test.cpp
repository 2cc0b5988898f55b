// Plans that were too dear to try at first: what is expected of their cost, and that they are tried when it turns out
// less.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/tuner/scripted.h"
#include "tuner/search.h"

namespace attune::tuner {
namespace {

using testing::mesh;
using testing::problem_of;
using testing::Scripted;
using testing::two_shot;
using testing::vendor;
const Plan late_push{.variant = "push"};
const std::vector<Plan> every_plan{vendor, mesh, two_shot, late_push};

/// two_shot takes over from mesh, the vendor and push never win.
double overtaking(const Plan& plan, Bytes bytes) {
  const auto size = static_cast<double>(bytes);
  if (plan == mesh) return 1 + size / 1000;
  if (plan == two_shot) return 6 + size / 2000;
  return 20 + size / 500;
}

Task quarters(Bytes smallest, Bytes largest) {
  Task task;
  for (Bytes bytes = smallest; bytes <= largest; bytes *= 4) task.problems.push_back(problem_of(bytes));
  task.plans = [](const Problem&) { return every_plan; };
  return task;
}

std::map<Bytes, std::set<Plan>> tried(const Session& session) {
  std::map<Bytes, std::set<Plan>> plans;
  for (const Record& record : session.records()) plans[record.problem.bytes()].insert(record.plan);
  return plans;
}

double once_half_a_second(const Plan& plan) { return plan == vendor ? 0 : 0.5; }

TEST(Session, WhatAPlanCostsOnceIsNotExpectedAtEverySize) {
  Scripted runner(overtaking);
  runner.setup_s = [](Bytes) { return 1e-3; };
  runner.first_setup_s = once_half_a_second;
  Session session(runner, {.launch = "L"}, {});
  const std::vector<Plan> known{vendor, mesh, two_shot};
  session.round(problem_of(64), known, 3, Stage::search);
  EXPECT_NEAR(session.expected_s(problem_of(64), known, 3), 0, 1e-3) << "set up already";
  EXPECT_NEAR(session.expected_s(problem_of(256), known, 3), 3 * 4e-3, 1e-3) << "at four times the size, four times";
  EXPECT_GE(session.expected_s(problem_of(64), std::span(&late_push, 1), 3), 0.5) << "new to the session";
  session.round(problem_of(256), known, 3, Stage::search);
  EXPECT_NEAR(session.expected_s(problem_of(1024), known, 3), 3 * 1e-3, 2e-3) << "as at the size before";
}

TEST(Race, PlansMayComeLateAndAreJudgedLikeTheFirst) {
  Scripted runner(overtaking, 0.001);
  Session session(runner, {.launch = "L"}, {});
  Race race(problem_of(4096), {vendor, mesh}, {});
  race.step(session);
  EXPECT_TRUE(race.finished());
  EXPECT_FALSE(race.has(two_shot));
  const std::vector<Plan> late{two_shot, late_push};
  race.admit(late);
  EXPECT_TRUE(race.has(two_shot));
  EXPECT_FALSE(race.finished());
  EXPECT_EQ(race.survivors(), (std::vector<Plan>{mesh, two_shot, late_push}))
      << "the vendor is out, the late ones are in";
  EXPECT_EQ(race.next_calls(session), RaceOptions{}.first_rounds * RaceOptions{}.calls) << "their first rung";
  const std::size_t before = session.records().size();
  race.step(session);
  EXPECT_EQ(session.records().size() - before, 3U * RaceOptions{}.first_rounds) << "the leader runs beside them";
  EXPECT_EQ(race.survivors(), std::vector<Plan>{mesh}) << "both are far slower";
}

/// Open MPI's choices need communicators of their own, which take half a second each, once.
TEST(Search, APlanThatIsDearOnceIsTriedAtEverySize) {
  Scripted runner(overtaking, 0.05, 2e-6);
  runner.setup_s = [](Bytes) { return 1e-3; };
  runner.first_setup_s = once_half_a_second;
  Session session(runner, {.launch = "L", .budget_s = 6}, {});
  const Task task = quarters(64, 1 << 20);
  search(std::span(&task, 1), testing::facts, {}, session);
  auto plans = tried(session);
  for (const Problem& problem : task.problems)
    EXPECT_EQ(plans[problem.bytes()].size(), every_plan.size()) << problem.bytes();
}

/// The smallest size is slow (its pages are touched for the first time), so all others seem to be.
TEST(Search, PlansLeftOutForTheirExpectedCostAreTriedWhereItWasLess) {
  const auto time = [](const Plan& plan, Bytes bytes) {
    const double ratio = plan == mesh ? 1 : plan == two_shot ? 1.2 : 1.5;
    return ratio * (1 + static_cast<double>(bytes) / 1000) + (bytes == 64 ? 50e3 : 0);
  };
  Scripted runner(time, 0.05, 2e-6);
  Session session(runner, {.launch = "L", .budget_s = 10}, {});
  const Task task = quarters(64, 1 << 20);
  search(std::span(&task, 1), testing::facts, {}, session);
  EXPECT_LE(session.elapsed_s(), 1.05 * 10);
  auto plans = tried(session);
  for (const Problem& problem : task.problems)
    EXPECT_EQ(plans[problem.bytes()].size(), every_plan.size()) << problem.bytes();
}

}  // namespace
}  // namespace attune::tuner
