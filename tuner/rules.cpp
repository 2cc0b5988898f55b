#include "tuner/rules.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>

#include "core/error.h"

namespace attune::tuner {
namespace {

/// What a sequence of plans costs, compared field by field.
struct PathCost {
  int departures = 0;
  int rules = 0;
  int unchosen = 0;  ///< Sizes that get another plan than the decided one.
  double loss = 0;
  auto operator<=>(const PathCost&) const = default;
  PathCost operator+(const PathCost& other) const {
    return {departures + other.departures, rules + other.rules, unchosen + other.unchosen, loss + other.loss};
  }
};
constexpr PathCost impossible{std::numeric_limits<int>::max() / 2, 0, 0, 0};

double band_of(const DecisionOptions& options) {
  return options.objective == Objective::blocks ? options.slack : options.tie;
}

bool may_stand(const Decision& decision, const Plan& plan, const DecisionOptions& options) {
  if (plan == decision.chosen) return true;
  const Candidate* candidate = decision.find(plan);
  if (candidate == nullptr || candidate->loss > band_of(options)) return false;
  if (options.objective == Objective::blocks && plan.blocks > decision.chosen.blocks) return false;
  return decision.chosen.variant != "vendor" || candidate->to_vendor <= 1;
}

/// What the previous table says at this size, if that is measured here and still within the tie.
const Plan* still_good(const Decision& decision, const KeyedRules* previous, const DecisionOptions& options) {
  if (previous == nullptr) return nullptr;
  const Plan& plan = previous->rule_at(decision.bytes).plan;
  const Candidate* candidate = decision.find(plan);
  return candidate != nullptr && candidate->loss <= band_of(options) ? &plan : nullptr;
}

PathCost cost_at(const Decision& decision, const Plan& plan, const KeyedRules* previous,
                 const DecisionOptions& options) {
  const Plan* before = still_good(decision, previous, options);
  if (!may_stand(decision, plan, options) && (before == nullptr || plan != *before)) return impossible;
  const Candidate* candidate = decision.find(plan);
  return {.departures = before != nullptr && plan != *before ? 1 : 0,
          .unchosen = plan == decision.chosen ? 0 : 1,
          .loss = candidate == nullptr ? 0 : candidate->loss};
}

std::vector<Plan> plans_of(const std::vector<Decision>& decisions, const KeyedRules* previous) {
  std::vector<Plan> plans;
  for (const Decision& decision : decisions) {
    for (const Candidate& candidate : decision.candidates) plans.push_back(candidate.plan);
    if (previous != nullptr) plans.push_back(previous->rule_at(decision.bytes).plan);
  }
  std::ranges::sort(plans);
  plans.erase(std::unique(plans.begin(), plans.end()), plans.end());
  return plans;
}

/// The plan at each size along the cheapest path.
std::vector<Plan> cheapest_path(const std::vector<Decision>& decisions, const KeyedRules* previous,
                                const DecisionOptions& options) {
  const std::vector<Plan> plans = plans_of(decisions, previous);
  std::vector<std::vector<std::size_t>> came_from(decisions.size(), std::vector<std::size_t>(plans.size()));
  std::vector<PathCost> costs(plans.size());
  for (std::size_t size = 0; size < decisions.size(); ++size) {
    const std::vector<PathCost> before = costs;
    const auto cheapest = static_cast<std::size_t>(std::ranges::min_element(before) - before.begin());
    for (std::size_t plan = 0; plan < plans.size(); ++plan) {
      const PathCost switched = before[cheapest] + PathCost{.rules = 1};
      const bool stay = size > 0 && before[plan] <= switched;
      came_from[size][plan] = stay ? plan : cheapest;
      const PathCost here = cost_at(decisions[size], plans[plan], previous, options);
      costs[plan] = here.departures >= impossible.departures ? impossible : (stay ? before[plan] : switched) + here;
    }
  }
  std::vector<Plan> path(decisions.size());
  auto at = static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
  for (std::size_t size = decisions.size(); size-- > 0;) {
    path[size] = plans[at];
    at = came_from[size][at];
  }
  return path;
}

/// ln(time of `from` / time of `to`) at one size, or NaN if one of them was not measured there.
double advantage(const Decision& decision, const Plan& from, const Plan& to) {
  const Candidate* a = decision.find(from);
  const Candidate* b = decision.find(to);
  if (a == nullptr || b == nullptr) return std::numeric_limits<double>::quiet_NaN();
  return std::log1p(a->loss) - std::log1p(b->loss);
}

Bytes crossover(const Decision& below, const Decision& above, const Plan& from, const Plan& to,
                const KeyedRules* previous) {
  if (previous != nullptr)
    for (std::size_t i = 1; i < previous->rules.size(); ++i) {
      const Rule& rule = previous->rules[i];
      const bool same = previous->rules[i - 1].plan == from && rule.plan == to;
      if (same && rule.min_bytes > below.bytes && rule.min_bytes <= above.bytes) return rule.min_bytes;
    }
  const double before = advantage(below, from, to);
  const double after = advantage(above, from, to);
  const double fraction = before < 0 && after > 0 ? before / (before - after) : after > 0 && before >= 0 ? 0.0 : 0.5;
  const double low = std::log(static_cast<double>(std::max<Bytes>(below.bytes, 1)));
  const double high = std::log(static_cast<double>(std::max<Bytes>(above.bytes, 1)));
  const Bytes element = size_of(above.problem.dtype);
  const auto cut =
      static_cast<Bytes>(std::llround(std::exp(std::lerp(low, high, fraction)) / static_cast<double>(element))) *
      element;
  return std::clamp(cut, std::min(below.bytes + element, above.bytes), above.bytes);
}

/// Times to four significant digits: more is not known, and files stay readable.
double rounded(double value) {
  if (value <= 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 3);
  const double steps = std::round(value / unit);
  return unit < 1 ? steps / std::round(1 / unit) : steps * unit;
}

void add_evidence(RuleSpan& span, const std::vector<Decision>& decisions) {
  const Decision& first = decisions[span.first];
  Rule& rule = span.rule;
  rule.at_bytes = first.bytes;
  if (first.vendor_us) rule.vendor_us = rounded(*first.vendor_us);
  rule.confidence = Confidence::high;
  for (std::size_t i = span.first; i <= span.last; ++i) {
    const Candidate* candidate = decisions[i].find(rule.plan);
    rule.confidence = std::min(rule.confidence, candidate == nullptr ? Confidence::none : candidate->confidence);
  }
  const Candidate* candidate = first.find(rule.plan);
  if (candidate == nullptr) return;
  rule.time_us = rounded(candidate->time.median_us);
  if (candidate->time.ci_us) rule.ci_us = {rounded(candidate->time.ci_us->low), rounded(candidate->time.ci_us->high)};
  rule.samples = candidate->time.samples;
  rule.launches = candidate->time.launches;
}

}  // namespace

std::vector<RuleSpan> compact(const std::vector<Decision>& decisions, const KeyedRules* previous,
                              const DecisionOptions& options) {
  if (decisions.empty()) throw Error(Status::internal, "rules of no decisions");
  const std::vector<Plan> path = cheapest_path(decisions, previous, options);
  std::vector<RuleSpan> spans;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (spans.empty() || path[i] != path[i - 1]) {
      RuleSpan span{.first = i};
      span.rule.plan = path[i];
      if (i > 0) span.rule.min_bytes = crossover(decisions[i - 1], decisions[i], path[i - 1], path[i], previous);
      spans.push_back(span);
    }
    spans.back().last = i;
  }
  for (RuleSpan& span : spans) add_evidence(span, decisions);
  return spans;
}

}  // namespace attune::tuner
