#include "tuner/confirm.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace attune::tuner {
namespace {

constexpr double enough = 0.25;  ///< Of the precision: narrower intervals change no decision.
constexpr int fewest_rounds =
    8;  ///< That an interval needs at 99 %: fewer fresh ones say less than those of the search.
constexpr int most_rounds = 400;  ///< Of one problem: a journal is to be kept.
constexpr int many_rounds = 100;  ///< After so many, each has more calls: more pairs of blocks decide nothing better.

struct Finalists {
  Problem problem;
  std::vector<Plan> plans;
  double doubt = 0;
  int rounds = 0;
  bool open = true;  ///< Does it need more rounds to be decided?
};

std::vector<Plan> finalists_of(const Decision& decision) {
  std::vector<Plan> plans{decision.chosen};
  const auto add = [&](const Plan& plan) {
    if (std::ranges::find(plans, plan) == plans.end()) plans.push_back(plan);
  };
  // The two fastest, and the vendor.
  for (std::size_t i = 0; i < std::min<std::size_t>(decision.candidates.size(), 2); ++i)
    add(decision.candidates[i].plan);
  for (const Candidate& candidate : decision.candidates)
    if (candidate.plan.variant == "vendor") add(candidate.plan);
  return plans;
}

/// Neither a tie nor a difference beyond the noise.
bool undecided(const Comparison& comparison, double tie) {
  if (!comparison.ci) return true;
  const bool apart = comparison.ci->high < 1 || comparison.ci->low > 1;
  const bool tied = comparison.ci->low > 1 / (1 + tie) && comparison.ci->high < 1 + tie;
  return !apart && !tied;
}

/// The most doubtful decisions are measured first: 1 over how far apart the two best are, in the noise's own width.
double doubt(const Decision& decision) {
  const Comparison& rival = decision.to_runner_up;
  if (!decision.runner_up) return 0;
  if (!rival.ci || rival.ratio <= 0) return 1e9;
  const double width = std::max(rival.ci->high - rival.ci->low, 1e-6);
  return width / std::max(std::abs(rival.ratio - 1), 1e-6);
}

double widest(const Session& session, const Finalists& finalists) {
  double width = 0;
  for (const Plan& plan : finalists.plans)
    width = std::max(width, session.relative_half_width(finalists.problem, plan, Stage::confirm));
  return width;
}

bool is_open(const Session& session, const Finalists& finalists, const FactsOf& facts, const DecisionOptions& options) {
  if (widest(session, finalists) > session.options().precision) return true;
  const auto decisions = decide_all(session.records_of(std::span(&finalists.problem, 1)), facts, options);
  if (decisions.empty()) return false;
  const Decision& decision = decisions.front();
  return (decision.runner_up && undecided(decision.to_runner_up, options.tie)) ||
         (decision.vendor_us && decision.chosen.variant != "vendor" && undecided(decision.to_vendor, options.tie));
}

class Confirmation {
 public:
  Confirmation(const FactsOf& facts, const SearchOptions& options, Session& session)
      : facts_(facts), options_(options), session_(session) {}

  [[nodiscard]] bool run(std::span<const Problem> problems) {
    for (const Problem& problem : problems) {
      const auto decisions = decide_all(session_.records_of(std::span(&problem, 1)), facts_, options_.decision);
      if (!decisions.empty())
        finalists_.push_back({problem, finalists_of(decisions.front()), doubt(decisions.front())});
    }
    std::ranges::stable_sort(finalists_, std::greater{}, &Finalists::doubt);
    const int rounds = affordable_rounds();
    if (rounds < fewest_rounds) measure_cheapest();
    // Half the rounds now and half after all others: a slow or lucky moment then spoils no size alone.
    else
      for (const int part : {rounds / 2, rounds - rounds / 2})
        for (Finalists& one : finalists_) measure(one, part);
    for (int pass = 0; pass < options_.confirm_doublings; ++pass)
      for (Finalists& one : finalists_) {
        one.open = one.open && is_open(session_, one, facts_, options_.decision);
        if (one.open) measure(one, one.rounds);
      }
    if (session_.options().budget_s > 0) use_up();
    return std::ranges::all_of(
        finalists_, [this](const Finalists& one) { return widest(session_, one) <= session_.options().precision; });
  }

 private:
  /// Long calls say as much one by one, and more rounds of them fit.
  int calls_of(const Finalists& one) const {
    if (session_.expected_call_s(one.problem) > options_.race.long_call_s) return 1;
    return options_.race.calls * (one.rounds >= many_rounds ? 4 : 1);
  }

  double round_s(const Finalists& one) const { return session_.expected_s(one.problem, one.plans, calls_of(one)); }

  /// The rounds that every problem can have, up to what is asked for.
  int affordable_rounds() {
    double all_s = 0;
    for (const Finalists& one : finalists_) all_s += round_s(one);
    const double most = all_s > 0 ? session_.left_s(1) / all_s : options_.confirm_rounds;
    return static_cast<int>(
        std::clamp(most, 0.0, static_cast<double>(std::max(fewest_rounds, options_.confirm_rounds))));
  }

  /// Where not every problem can have enough: as many problems as can, each its part of the time.
  void measure_cheapest() {
    std::vector<Finalists*> order;
    for (Finalists& one : finalists_) order.push_back(&one);
    std::ranges::stable_sort(order, {}, [this](const Finalists* one) { return round_s(*one); });
    for (std::size_t i = 0; i < order.size(); ++i) {
      const double part_s = session_.left_s(1) / static_cast<double>(order.size() - i);
      const double rounds = part_s / std::max(round_s(*order[i]), 1e-9);
      measure(*order[i], static_cast<int>(std::clamp(rounds, static_cast<double>(fewest_rounds),
                                                     static_cast<double>(options_.confirm_rounds))));
    }
  }

  bool measure(Finalists& one, int rounds) {
    rounds = std::min(rounds, most_rounds - one.rounds);
    const int calls = calls_of(one);
    if (rounds <= 0 || !session_.fits(one.problem, one.plans, std::int64_t{rounds} * calls, 1)) return false;
    for (int round = 0; round < rounds; ++round) session_.round(one.problem, one.plans, calls, Stage::confirm);
    one.rounds += rounds;
    return true;
  }

  /// Spends what is left on the widest intervals, until they are far narrower than needed.
  void use_up() {
    constexpr int step = 4;
    std::map<const Finalists*, double> widths;
    for (const Finalists& one : finalists_) widths[&one] = widest(session_, one);
    while (!finalists_.empty()) {
      Finalists* next = nullptr;
      for (Finalists& one : finalists_)
        if (next == nullptr || widths[&one] > widths[next]) next = &one;
      if (widths[next] <= enough * session_.options().precision) break;
      widths[next] = measure(*next, next->rounds == 0 ? fewest_rounds : step) ? widest(session_, *next) : 0;
    }
  }

  const FactsOf& facts_;
  const SearchOptions& options_;
  Session& session_;
  std::vector<Finalists> finalists_;
};

}  // namespace

std::vector<Decision> decide_all(std::span<const Record> records, const FactsOf& facts,
                                 const DecisionOptions& options) {
  std::vector<Decision> decisions;
  for (const KeyCells& key : gather(records, options.numerics, options.filter)) {
    const Excluded excluded(key);
    for (const SizeCells& size : key.sizes)
      if (auto decision = decide(size, excluded, facts, options)) decisions.push_back(std::move(*decision));
  }
  return decisions;
}

bool confirm(std::span<const Problem> problems, const FactsOf& facts, const SearchOptions& options, Session& session) {
  return Confirmation(facts, options, session).run(problems);
}

}  // namespace attune::tuner
