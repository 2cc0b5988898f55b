#include "tests/tuner_lab/methods.h"

#include <algorithm>
#include <cmath>

#include "tuner/build_table.h"
#include "tuner/prospects.h"
#include "tuner/statistics.h"

namespace attune::tuner::lab {
namespace {

constexpr Bytes smallest = 8;
constexpr Bytes largest = Bytes{64} << 20;

constexpr Numerics allowed = Numerics::per_hop;

std::vector<Plan> competitors(const Machine& machine) {
  std::vector<Plan> plans = machine.plans();
  std::erase_if(plans, [](const Plan& plan) {
    const auto facts = facts_of_variant(plan);
    return !facts || !admits(allowed, facts->numerics);
  });
  return plans;
}

}  // namespace

std::vector<Problem> tuned_sizes(const Machine& machine) {
  std::vector<Problem> problems;
  for (Bytes bytes = smallest; bytes <= largest; bytes *= machine.kind().size_factor)
    problems.push_back({.dtype = DType::f32, .count = bytes / 4, .ranks = machine.kind().ranks});
  return problems;
}

Outcome with_search(Machine& machine, SearchKind kind, std::int64_t budget) {
  const std::vector<Plan> plans = competitors(machine);
  const Task task{tuned_sizes(machine),
                  [&](const Problem& problem) { return plausible(problem, plans, cost_of_variant); }};
  // Measuring everything means measuring it well: to 1 %.
  const double precision = kind == SearchKind::exhaustive ? 0.01 : SessionOptions{}.precision;
  Session session(
      machine, {.launch = "lab", .budget_s = static_cast<double>(budget) * Clock{}.sample, .precision = precision}, {});
  SearchOptions options{.kind = kind};
  options.decision.numerics = allowed;
  search(std::span(&task, 1), facts_of_variant, options, session);
  const auto tuned = tune(session.records(), facts_of_variant, options.decision, nullptr);
  Outcome outcome{{}, session.samples()};
  for (const RuleSpan& span : tuned.at(0).rules) outcome.rules.push_back(span.rule);
  return outcome;
}

Outcome with_plain_means(Machine& machine, std::int64_t budget) {
  const std::vector<Plan> plans = competitors(machine);
  const std::vector<Problem> sizes = tuned_sizes(machine);
  const auto cells = static_cast<std::int64_t>(plans.size() * sizes.size());
  const int calls = static_cast<int>(std::max<std::int64_t>(1, budget / cells));
  std::vector<std::vector<double>> means(sizes.size());
  for (const Plan& plan : plans)  // one run of the benchmark for each plan, over all sizes
    for (std::size_t size = 0; size < sizes.size(); ++size) {
      double sum = 0;
      for (int call = 0; call < calls; ++call) sum += machine.sample_us(plan, sizes[size].bytes());
      means[size].push_back(sum / calls);
    }
  Outcome outcome{{}, cells * calls};
  for (std::size_t size = 0; size < sizes.size(); ++size) {
    const Plan& best = plans[static_cast<std::size_t>(std::ranges::min_element(means[size]) - means[size].begin())];
    if (outcome.rules.empty() || outcome.rules.back().plan != best)
      outcome.rules.push_back({.min_bytes = size == 0 ? 0 : sizes[size].bytes(), .plan = best});
  }
  return outcome;
}

std::vector<ShortOutcome> with_short_budgets(Machine& machine, SearchKind kind) {
  const std::vector<Plan> plans = competitors(machine);
  Session session(machine, {.launch = "lab"}, {});
  SearchOptions options{.kind = kind};
  options.decision.numerics = allowed;
  std::vector<ShortOutcome> outcomes;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    Task task{{}, [&](const Problem& problem) { return plausible(problem, plans, cost_of_variant); }};
    for (Bytes bytes = smallest; bytes <= 4 * largest; bytes *= 2)
      task.problems.push_back({.dtype = dtype, .count = bytes / size_of(dtype), .ranks = machine.kind().ranks});
    const double budget_s = short_budget_s * (outcomes.empty() ? first_table_weight : 1);
    session.start(budget_s);
    search(std::span(&task, 1), facts_of_variant, options, session);
    const auto tuned = tune(session.records_of(task.problems), facts_of_variant, options.decision, nullptr);
    ShortOutcome outcome{.dtype = dtype, .used = session.elapsed_s() / budget_s};
    for (const RuleSpan& span : tuned.at(0).rules) outcome.rules.push_back(span.rule);
    for (Bytes bytes = smallest; bytes <= largest; bytes *= 2)
      outcome.coverage += std::ranges::any_of(tuned[0].decisions,
                                              [&](const Decision& decision) {
                                                return decision.bytes <= 2 * bytes && bytes <= 2 * decision.bytes;
                                              })
                              ? 1.0 / 24
                              : 0;
    outcomes.push_back(outcome);
  }
  return outcomes;
}

Score score(const Machine& machine, const std::vector<Rule>& rules, int sizes, std::uint64_t seed, DType dtype) {
  const std::vector<Plan> plans = competitors(machine);
  const KeyedRules table{{}, rules};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> octave(std::log2(smallest), std::log2(largest));
  std::vector<double> regrets;
  Score score;
  for (int i = 0; i < sizes; ++i) {
    const Bytes bytes = static_cast<Bytes>(std::exp2(octave(random))) / 4 * 4;
    double best = machine.true_us(plans.front(), bytes, dtype);
    for (const Plan& plan : plans) best = std::min(best, machine.true_us(plan, bytes, dtype));
    const Plan& chosen = table.rule_at(bytes).plan;
    const double time = machine.true_us(chosen, bytes, dtype);
    regrets.push_back(time / best - 1);
    score.wrong_winner += regrets.back() > DecisionOptions{}.tie ? 1.0 / sizes : 0;
    score.false_switch += chosen.variant != "vendor" && machine.true_us(Plan{}, bytes, dtype) < time ? 1.0 / sizes : 0;
  }
  for (const double regret : regrets) score.regret += std::log1p(regret) / sizes;
  score.regret = std::expm1(score.regret);
  score.worst = *std::ranges::max_element(regrets);
  return score;
}

}  // namespace attune::tuner::lab
