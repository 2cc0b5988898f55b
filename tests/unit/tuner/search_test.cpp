// The loop that decides what to measure: elimination, seeding, crossovers, budgets, failures, replay.
#include "tuner/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "tests/unit/tuner/scripted.h"
#include "tuner/build_table.h"
#include "tuner/confirm.h"
#include "tuner/replay.h"

namespace attune::tuner {
namespace {

using testing::mesh;
using testing::Scripted;
using testing::two_shot;
using testing::vendor;

Plan mesh_of(int blocks) { return {.variant = "mesh", .blocks = blocks}; }

Task task_of(std::vector<Plan> plans, Bytes smallest = 64, Bytes largest = 1 << 20) {
  Task task;
  for (Bytes bytes = smallest; bytes <= largest; bytes *= 2) task.problems.push_back(testing::problem_of(bytes));
  task.plans = [plans = std::move(plans)](const Problem&) { return plans; };
  return task;
}

/// mesh wins below 10000 bytes, two_shot above, the vendor never.
double crossing(const Plan& plan, Bytes bytes) {
  const auto size = static_cast<double>(bytes);
  const double base = plan.variant == "mesh"       ? 1 + size / 1000
                      : plan.variant == "two_shot" ? 6 + size / 2000
                                                   : 20 + size / 500;
  return base * (1 + 0.3 * (plan.blocks - 1));
}

std::int64_t samples_of(const std::vector<Record>& records, const Plan& plan) {
  std::int64_t samples = 0;
  for (const Record& record : records)
    if (record.plan == plan) samples += static_cast<std::int64_t>(record.samples_us.size());
  return samples;
}

TEST(Race, DropsWhatIsSlowerAndKeepsWhatIsNear) {
  Scripted runner([](const Plan& plan, Bytes) {
    return plan.blocks == 4 ? 3.0 : plan.blocks == 3 ? 1.1 : plan.blocks == 2 ? 1.001 : 1.0;
  });
  Session session(runner, {}, {});
  Race race(testing::problem_of(64), {mesh_of(1), mesh_of(2), mesh_of(3), mesh_of(4)}, {});
  EXPECT_EQ(race.next_calls(session), 9);
  race.step(session);
  EXPECT_EQ(race.survivors().size(), 3U) << "three times as slow is hopeless";
  while (!race.finished()) race.step(session);
  const auto survivors = race.survivors();
  EXPECT_EQ(std::set<Plan>(survivors.begin(), survivors.end()), (std::set<Plan>{mesh_of(1), mesh_of(2)}));
  EXPECT_LT(race.rung(), 6) << "a tie ends the race early";
}

TEST(Race, TheBestIsHardlyEverDropped) {
  int kept = 0;
  constexpr int races = 60;
  for (int seed = 0; seed < races; ++seed) {
    Scripted runner([&](const Plan& plan, Bytes) { return 1 + 0.03 * ((plan.blocks + seed) % 8); }, 0.08);
    Session session(runner, {}, {});
    std::vector<Plan> plans;
    for (int blocks = 1; blocks <= 8; ++blocks) plans.push_back(mesh_of(blocks));
    Race race(testing::problem_of(64), plans, {});
    while (!race.finished()) race.step(session);
    const auto survivors = race.survivors();
    kept += std::ranges::any_of(survivors, [&](const Plan& plan) { return (plan.blocks + seed) % 8 == 0; }) ? 1 : 0;
  }
  EXPECT_GE(kept, races * 95 / 100);
}

TEST(Race, APlanThatFailsIsOutAndRecorded) {
  Scripted runner([](const Plan&, Bytes) { return 1.0; });
  runner.fails = [](const Plan& plan) { return plan == two_shot; };
  Session session(runner, {}, {});
  Race race(testing::problem_of(64), {mesh, two_shot}, {});
  race.step(session);
  EXPECT_EQ(race.survivors(), std::vector<Plan>{mesh});
  EXPECT_TRUE(race.finished());
  EXPECT_EQ(std::ranges::count(session.records(), CellStatus::timed_out, &Record::status), 1);
  Race none(testing::problem_of(64), {two_shot}, {});
  none.step(session);
  EXPECT_TRUE(none.finished());
}

TEST(Session, RecordsCarryLaunchBlockStageAndConvergence) {
  Scripted runner([](const Plan&, Bytes) { return 1.0; });
  std::vector<Record> journal;
  Session session(runner, {.launch = "L", .mode = Mode::throughput, .cache = CacheState::hot},
                  [&](const Record& record) { journal.push_back(record); });
  const std::vector<Plan> plans{mesh, vendor};
  for (int round = 0; round < 10; ++round) session.round(testing::problem_of(64), plans, 3, Stage::confirm);
  ASSERT_EQ(journal.size(), 20U);
  EXPECT_EQ(journal, session.records());
  EXPECT_EQ(journal.back().block, 9);
  EXPECT_EQ(journal.back().launch, "L");
  EXPECT_EQ(journal.back().stage, Stage::confirm);
  EXPECT_EQ(journal.back().mode, Mode::throughput);
  EXPECT_FALSE(journal.front().converged) << "three samples";
  EXPECT_TRUE(journal.back().converged);
  EXPECT_EQ(session.samples(), 60);
}

TEST(Session, ExpectsTimesFromTheNearestSizes) {
  Scripted runner([](const Plan&, Bytes bytes) { return static_cast<double>(bytes); }, 1e-6);
  Session session(runner, {.budget_s = 1}, {});
  const std::vector<Plan> plans{mesh};
  const auto expected = [&](Bytes bytes) { return session.expected_s(testing::problem_of(bytes), plans, 10); };
  EXPECT_TRUE(session.knows_nothing());
  EXPECT_EQ(expected(64), 0) << "no idea yet";
  session.round(testing::problem_of(1000), plans, 10, Stage::search);
  EXPECT_NEAR(expected(1000), 0.01, 0.001);
  EXPECT_NEAR(expected(4000), 0.04, 0.004) << "in proportion at most";
  EXPECT_NEAR(expected(8), 0.01, 0.001) << "smaller may be no faster";
  Problem other = testing::problem_of(1000);
  other.dtype = DType::f64, other.count = 125;
  EXPECT_NEAR(session.expected_s(other, plans, 10), 0.01, 0.001) << "another kind is better than no idea";
  EXPECT_TRUE(session.fits(testing::problem_of(1000), plans, 100, 0.5));
  EXPECT_FALSE(session.fits(testing::problem_of(1000), plans, 600, 0.5));
  session.round(testing::problem_of(4000), plans, 10, Stage::search);
  EXPECT_NEAR(expected(16000), 0.16, 0.001) << "growth goes on";
}

TEST(Session, WhatGrewSlowlyIsExpectedToGrowSlowly) {
  Scripted runner([](const Plan&, Bytes) { return 1000.0; }, 1e-6);
  Session session(runner, {.budget_s = 1}, {});
  const std::vector<Plan> plans{mesh};
  for (const Bytes bytes : {1000, 4000}) session.round(testing::problem_of(bytes), plans, 10, Stage::search);
  EXPECT_LT(session.expected_s(testing::problem_of(16000), plans, 10), 0.02);
  EXPECT_GE(session.expected_s(testing::problem_of(16000), plans, 10), 0.01);
}

/// What a plan costs because it is new is counted once, and not taken for the cost of its calls.
TEST(Session, TellsSetupFromCalls) {
  Scripted runner([](const Plan&, Bytes) { return 1000.0; }, 1e-6);
  runner.setup_s = [](Bytes) { return 0.5; };
  Session session(runner, {.budget_s = 10}, {});
  const std::vector<Plan> one{mesh}, both{mesh, two_shot};
  session.probe(testing::problem_of(64), mesh);
  session.round(testing::problem_of(64), one, 10, Stage::search);
  EXPECT_NEAR(session.expected_s(testing::problem_of(64), one, 10), 0.01, 0.001);
  EXPECT_NEAR(session.expected_s(testing::problem_of(64), both, 10), 0.52, 0.001);
  EXPECT_NEAR(session.expected_s(testing::problem_of(128), one, 10), 2 * 0.51, 0.001);
}

TEST(Session, AProbeTeachesTimesAndLeavesNoRecord) {
  Scripted runner([](const Plan&, Bytes) { return 1000.0; }, 0.001);
  Session session(runner, {}, {});
  session.probe(testing::problem_of(64), vendor);
  EXPECT_NEAR(session.expected_s(testing::problem_of(64), std::vector<Plan>{vendor}, 10), 0.01, 0.001);
  EXPECT_TRUE(session.knows(testing::problem_of(64)));
  EXPECT_TRUE(session.records().empty());
}

TEST(Search, FindsTheCrossoverWithinAQuarter) {
  Scripted runner(crossing);
  Session session(runner, {.launch = "L"}, {});
  const Task task = task_of({vendor, mesh, two_shot, mesh_of(2), {.variant = "two_shot", .blocks = 2}});
  search(std::span(&task, 1), testing::facts, {}, session);
  const auto tuned = tune(session.records(), testing::facts, {}, nullptr);
  ASSERT_EQ(tuned.at(0).rules.size(), 2U);
  EXPECT_EQ(tuned[0].rules[0].rule.plan, mesh);
  EXPECT_EQ(tuned[0].rules[1].rule.plan, two_shot);
  EXPECT_NEAR(std::log(static_cast<double>(tuned[0].rules[1].rule.min_bytes)), std::log(10000), 0.12);
  const auto& decisions = tuned[0].decisions;
  for (std::size_t i = 1; i < decisions.size(); ++i)
    if (decisions[i].chosen != decisions[i - 1].chosen) {
      EXPECT_LE(static_cast<double>(decisions[i].bytes) / static_cast<double>(decisions[i - 1].bytes), 1.26);
    }
}

TEST(Search, SpendsFarLessOnLosersThanOnWinners) {
  Scripted runner(crossing);
  Session session(runner, {.launch = "L"}, {});
  const Task task = task_of({vendor, mesh, mesh_of(8), two_shot});
  search(std::span(&task, 1), testing::facts, {}, session);
  EXPECT_LT(4 * samples_of(session.records(), mesh_of(8)), samples_of(session.records(), mesh));
}

TEST(Search, WinnerRunnerUpAndVendorAreMeasuredAfreshEverywhere) {
  Scripted runner(crossing);
  Session session(runner, {.launch = "L"}, {});
  const Task task = task_of({vendor, mesh, two_shot});
  search(std::span(&task, 1), testing::facts, {}, session);
  for (const Problem& problem : task.problems) {
    std::map<Plan, int> fresh;
    std::set<Plan> raced;
    for (const Record& record : session.records()) {
      if (record.problem == problem && record.stage == Stage::confirm) ++fresh[record.plan];
      if (record.problem == problem && record.stage == Stage::search) raced.insert(record.plan);
    }
    EXPECT_EQ(fresh.size(), raced.size()) << "at most three here: " << problem.bytes();
    EXPECT_TRUE(fresh.contains(vendor) && (fresh.contains(mesh) || fresh.contains(two_shot)));
    for (const auto& [plan, rounds] : fresh) EXPECT_GE(rounds, 12) << to_string(plan);
  }
}

TEST(Search, ExhaustiveMeasuresEveryCellUntilItIsAsPreciseAsAskedFor) {
  std::vector<std::int64_t> samples;
  for (const double precision : {0.03, 0.01}) {
    Scripted runner(crossing, 0.05);
    Session session(runner, {.launch = "L", .precision = precision}, {});
    const Task task = task_of({vendor, mesh, mesh_of(8), two_shot}, 64, 4096);
    EXPECT_TRUE(search(std::span(&task, 1), testing::facts, {.kind = SearchKind::exhaustive}, session));
    for (const Problem& problem : task.problems)
      for (const Plan& plan : task.plans(problem))
        EXPECT_LE(session.relative_half_width(problem, plan, Stage::search), precision);
    samples.push_back(session.samples());
  }
  EXPECT_GT(samples[1], 2 * samples[0]) << "not more precise than asked for";
}

/// Whatever the budget, measuring ends with it: never much later, and not much earlier while there is noise to fight.
TEST(Search, ABudgetIsKept) {
  for (const double budget_s : {0.2, 1.0, 5.0})
    for (const SearchKind kind : {SearchKind::racing, SearchKind::exhaustive}) {
      Scripted runner(crossing, 0.3, 2e-6);
      Session session(runner, {.launch = "L", .budget_s = budget_s}, {});
      const Task task = task_of({vendor, mesh, two_shot, mesh_of(2), mesh_of(4)}, 64, 1 << 22);
      search(std::span(&task, 1), testing::facts, {.kind = kind}, session);
      EXPECT_LE(session.elapsed_s(), 1.05 * budget_s) << budget_s;
      if (kind == SearchKind::racing) {
        EXPECT_GE(session.elapsed_s(), 0.95 * budget_s) << budget_s;
      }
    }
}

/// Where a new cell costs as much as validating it does, in proportion to its size, a short budget still covers all
/// sizes that it can pay for with the vendor and what may beat it, is kept, and leaves time to measure winners afresh.
TEST(Search, AShortBudgetCoversTheCoarseSizesBeforeItRefines) {
  for (const double budget_s : {2.0, 4.0, 16.0}) {
    Scripted runner(crossing, 0.05, 2e-6);
    runner.setup_s = [](Bytes bytes) { return 1e-3 + 5e-8 * static_cast<double>(bytes); };
    Session session(runner, {.launch = "L", .budget_s = budget_s}, {});
    const Task task = task_of({vendor, mesh, two_shot, mesh_of(2), mesh_of(3), mesh_of(4)}, 64, 1 << 22);
    search(std::span(&task, 1), testing::facts, {}, session);
    EXPECT_LE(session.elapsed_s(), 1.05 * budget_s);
    EXPECT_GE(session.elapsed_s(), 0.9 * budget_s);
    std::map<Bytes, std::set<Plan>> raced, fresh;
    for (const Record& record : session.records())
      (record.stage == Stage::confirm ? fresh : raced)[record.problem.bytes()].insert(record.plan);
    for (Bytes bytes = 64; bytes <= 1 << 22; bytes *= 4) {
      EXPECT_TRUE(raced[bytes].contains(vendor)) << budget_s << " " << bytes;
      EXPECT_GE(raced[bytes].size(), 2U) << budget_s << " " << bytes;
      EXPECT_TRUE(fresh[bytes].contains(vendor)) << budget_s << " " << bytes;
    }
    const auto tuned = tune(session.records(), testing::facts, {}, nullptr);
    EXPECT_EQ(tuned.at(0).rules.front().rule.plan, mesh);
    EXPECT_EQ(tuned.at(0).rules.back().rule.plan, two_shot);
  }
}

/// Tables of one session teach each other: what was hopeless in the first is not paid for again where cells are dear,
/// and a tenth of its time covers the second.
TEST(Search, ASecondTableLearnsFromTheFirst) {
  Scripted runner(crossing, 0.02, 2e-6);
  runner.setup_s = [](Bytes bytes) { return 1e-3 + 1e-7 * static_cast<double>(bytes); };
  Session session(runner, {.launch = "L"}, {});
  const std::vector<Plan> plans{vendor, mesh_of(6), mesh_of(7), mesh_of(8), mesh, two_shot};
  const Task first = task_of(plans, 64, 1 << 22);
  session.start(20);
  search(std::span(&first, 1), testing::facts, {}, session);
  Task second = first;
  for (Problem& problem : second.problems) problem.op = Op::max;
  session.start(2.5);
  search(std::span(&second, 1), testing::facts, {}, session);
  EXPECT_LE(session.elapsed_s(), 1.05 * 2.5);
  const std::vector<Record> records = session.records_of(second.problems);
  for (const Record& record : records)
    if (record.problem.bytes() >= 1 << 20) {
      EXPECT_LE(record.plan.blocks, 1) << "more than twice as slow in the first table";
    }
  const auto tuned = tune(records, testing::facts, {}, nullptr);
  EXPECT_GE(tuned.at(0).decisions.back().bytes, 1 << 20);
  EXPECT_EQ(tuned[0].rules.front().rule.plan, mesh);
  EXPECT_EQ(tuned[0].rules.back().rule.plan, two_shot);
}

/// Waking blocks costs a fixed time, so many of them win at large sizes alone: they race wherever they may win, also
/// where a first rung with all takes so much of a size's time that hopeless plans are left out.
TEST(Search, BlocksThatWinAtLargeSizesAloneAreTriedThere) {
  Scripted runner(
      [](const Plan& plan, Bytes bytes) {
        const auto size = static_cast<double>(bytes);
        return plan.variant == "vendor" ? 20 + size / 500 : 1 + 2.0 * (plan.blocks - 1) + size / (1000 * plan.blocks);
      },
      0.02, 2e-6);
  runner.setup_s = [](Bytes) { return 1e-3; };
  Session session(runner, {.launch = "L", .budget_s = 0.3}, {});
  std::vector<Plan> plans{vendor};
  for (int blocks = 1; blocks <= 8; ++blocks) plans.push_back(mesh_of(blocks));
  const Task task = task_of(plans, 64, 1 << 20);
  search(std::span(&task, 1), testing::facts, {}, session);
  EXPECT_LE(session.elapsed_s(), 1.05 * 0.3);
  const auto fastest = [&](Bytes bytes) {
    return std::ranges::min(plans, {}, [&](const Plan& plan) { return runner.time(plan, bytes); });
  };
  std::map<Bytes, std::set<Plan>> raced;
  for (const Record& record : session.records()) raced[record.problem.bytes()].insert(record.plan);
  for (Bytes bytes = 64; bytes <= 1 << 20; bytes *= 4)
    EXPECT_TRUE(raced[bytes].contains(fastest(bytes))) << bytes << " " << to_string(fastest(bytes));
  EXPECT_FALSE(raced[1024].contains(mesh_of(8))) << "seven times as slow there";
  EXPECT_EQ(tune(session.records(), testing::facts, {}, nullptr).at(0).rules.back().rule.plan, mesh_of(8));
}

/// A machine on which one cell of the largest size takes longer than all else: the others have their time first.
TEST(Search, TheLargestSizeDoesNotStarveTheOthers) {
  Scripted runner(crossing, 0.05, 2e-6);
  runner.setup_s = [](Bytes bytes) { return 1e-3 + 4e-8 * static_cast<double>(bytes); };
  Session session(runner, {.launch = "L", .budget_s = 9}, {});
  const Task task =
      task_of({vendor, mesh, two_shot, mesh_of(2), mesh_of(3), mesh_of(4), mesh_of(5), mesh_of(6)}, 8, 1 << 28);
  search(std::span(&task, 1), testing::facts, {}, session);
  std::set<Bytes> decided;
  const auto tuned = tune(session.records(), testing::facts, {}, nullptr);
  for (const Decision& decision : tuned.at(0).decisions) decided.insert(decision.bytes);
  for (Bytes bytes = 8; bytes <= 1 << 23; bytes *= 4) EXPECT_TRUE(decided.contains(bytes)) << bytes;
}

/// A job of two hours on sizes up to 256 MiB, of a machine where validation dominates.
TEST(Search, ALongBudgetIsKeptToo) {
  Scripted runner(crossing, 0.1, 1e-3);
  runner.setup_s = [](Bytes bytes) { return 1e-3 + 4e-8 * static_cast<double>(bytes); };
  Session session(runner, {.launch = "L", .budget_s = 600}, {});
  const Task task = task_of({vendor, mesh, two_shot, mesh_of(2), mesh_of(4)}, 8, 1 << 28);
  search(std::span(&task, 1), testing::facts, {}, session);
  EXPECT_LE(session.elapsed_s(), 1.05 * 600);
  EXPECT_GE(session.elapsed_s(), 0.95 * 600);
}

/// Whatever the budget, something is measured: also where a single cell takes longer, and without a vendor.
TEST(Search, NoBudgetIsTooShortForOneSize) {
  for (const SearchKind kind : {SearchKind::racing, SearchKind::exhaustive}) {
    Scripted runner(crossing);
    runner.setup_s = [](Bytes) { return 1.0; };
    Session session(runner, {.launch = "L", .budget_s = 0.01}, {});
    const Task task = task_of({mesh, two_shot});
    EXPECT_FALSE(search(std::span(&task, 1), testing::facts, {.kind = kind}, session));
    EXPECT_EQ(tune(session.records(), testing::facts, {}, nullptr).at(0).rules.size(), 1U);
  }
}

/// A budget that is far too small still covers the sizes from one end to the other.
TEST(Search, AShortBudgetLeavesNoEndUntouched) {
  Scripted runner([](const Plan& plan, Bytes) { return plan.variant == "vendor" ? 2.0 : 1.0; }, 0.01);
  const Task task = task_of({vendor, mesh, two_shot, mesh_of(2)}, 64, 1 << 24);
  Session session(runner, {.launch = "L", .budget_s = 400 * 1.3e-6}, {});
  search(std::span(&task, 1), testing::facts, {}, session);
  Bytes smallest = 1 << 30, largest = 0;
  for (const Record& record : session.records())
    smallest = std::min(smallest, record.problem.bytes()), largest = std::max(largest, record.problem.bytes());
  EXPECT_LE(smallest, 4096);
  EXPECT_GE(largest, 1 << 18);
  EXPECT_NE(tune(session.records(), testing::facts, {}, nullptr).at(0).rules.front().rule.plan, vendor);
}

TEST(Replay, PlaysAJournalRoundByRound) {
  testing::Journalist journal;
  journal.rounds = 2;
  journal.measure(64, {{vendor, 2}, {mesh, 1}});
  ReplayRunner replay(journal.records, 1e-6);
  const std::vector<Plan> plans{mesh, two_shot, vendor};
  const auto first = replay.round(testing::problem_of(64), plans, 2);
  EXPECT_EQ(first[0].samples_us,
            (std::vector<double>{journal.records[1].samples_us[0], journal.records[1].samples_us[1]}));
  EXPECT_EQ(first[1].status, CellStatus::unsupported);
  EXPECT_EQ(first[2].samples_us.size(), 2U);
  EXPECT_NEAR(replay.now_s(), 6e-6 + 4e-6, 2e-7);
  (void)replay.round(testing::problem_of(64), plans, 2);
  EXPECT_EQ(replay.round(testing::problem_of(64), plans, 2)[0].samples_us, first[0].samples_us)
      << "from the start again";
}

/// A search on a replayed exhaustive journal finds what the journal itself says.
TEST(Replay, ASearchOnAJournalAgreesWithTheJournal) {
  Scripted runner(crossing);
  Session whole(runner, {.launch = "L"}, {});
  const Task task = task_of({vendor, mesh, two_shot}, 64, 1 << 18);
  search(std::span(&task, 1), testing::facts, {.kind = SearchKind::exhaustive}, whole);
  ReplayRunner replay(whole.records());
  Session again(replay, {.launch = "R"}, {});
  search(std::span(&task, 1), testing::facts, {}, again);
  const auto from_all = tune(whole.records(), testing::facts, {}, nullptr);
  const auto from_replay = tune(again.records(), testing::facts, {}, nullptr);
  ASSERT_EQ(from_all[0].rules.size(), from_replay[0].rules.size());
  for (std::size_t i = 0; i < from_all[0].rules.size(); ++i)
    EXPECT_EQ(from_all[0].rules[i].rule.plan, from_replay[0].rules[i].rule.plan);
}

}  // namespace
}  // namespace attune::tuner
