#include "tuner/prospects.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace attune::tuner {
namespace {

constexpr double unknown_ratio = 1.2;
constexpr double gaining_ratio = 1.1;  ///< At best, of a plan that gains on the winner: behind what has won already.
constexpr std::size_t most_related = 3;

/// Times over the best one's at one problem.
using Ratios = std::map<Plan, double>;

struct Size {
  double bytes = 1;
  double best_us = 0;
  Ratios ratios{};
};

Size size_at(const Session& session, const Problem& problem) {
  Size size{static_cast<double>(std::max<Bytes>(problem.bytes(), 1)), 0, session.medians_of(problem)};
  for (const auto& [plan, time] : size.ratios) size.best_us = size.best_us == 0 ? time : std::min(size.best_us, time);
  size.best_us = std::max(size.best_us, 1e-12);
  for (auto& [plan, time] : size.ratios) time /= size.best_us;
  return size;
}

/// Of the best plan of the same variant.
std::optional<double> variant_ratio(const Ratios& ratios, const Plan& plan) {
  std::optional<double> best;
  for (const auto& [other, ratio] : ratios)
    if (other.variant == plan.variant && (!best || ratio < *best)) best = ratio;
  return best;
}

struct Sources {
  std::vector<Size> below;  ///< Smaller sizes of the table, the nearest first.
  std::vector<Size> above;  ///< Larger ones, the nearest first.
  std::vector<Size> related;
};

void add_own(const Session& session, const Problem& problem, const std::vector<Problem>& measured, Sources& sources) {
  for (const Problem& other : measured) {
    if (!same_kind(other, problem) || other.bytes() == problem.bytes()) continue;
    (other.bytes() < problem.bytes() ? sources.below : sources.above).push_back(size_at(session, other));
  }
  std::ranges::sort(sources.below, std::greater{}, &Size::bytes);
  std::ranges::sort(sources.above, {}, &Size::bytes);
}

void add_related(const Session& session, const Problem& problem, const std::vector<Problem>& measured,
                 Sources& sources) {
  std::vector<Size>& found = sources.related;
  for (const Problem& other : measured) {
    const double apart = std::abs(std::log2(static_cast<double>(std::max<Bytes>(other.bytes(), 1)) /
                                            static_cast<double>(std::max<Bytes>(problem.bytes(), 1))));
    if (apart <= 1 && !same_kind(other, problem) && related(other, problem)) found.push_back(size_at(session, other));
  }
  std::ranges::stable_sort(found, std::greater{}, [](const Size& size) { return size.ratios.size(); });
  if (found.size() > most_related) found.resize(most_related);  // those that tried the most plans
}

/// Those that know the plan.
std::vector<const Size*> knowing(const std::vector<Size>& sizes, const Plan& plan) {
  std::vector<const Size*> found;
  for (const Size& size : sizes)
    if (size.ratios.contains(plan)) found.push_back(&size);
  return found;
}

struct Point {
  double bytes;
  double us;
};

/// Time at a larger size, growing as between the two nearest: in proportion to the size at most, never less. Known at
/// one size alone: no growth.
double grown_us(const Point& near, const std::optional<Point>& before, double bytes) {
  if (!before || before->bytes >= near.bytes) return near.us;
  const double power = std::log(near.us / before->us) / std::log(near.bytes / before->bytes);
  return near.us * std::pow(bytes / near.bytes, std::clamp(power, 0.0, 1.0));
}

/// Of a plan at a larger size: its own time and the best one's both go on as before. A plan that was last tried far
/// below (what costs a fixed time is hopeless at small sizes) gets its chance where the best takes as long by now.
double gained_ratio(const std::vector<Size>& below, const std::vector<const Size*>& known, const Plan& plan,
                    double bytes) {
  const auto own = [&](const Size& size) { return Point{size.bytes, size.best_us * size.ratios.at(plan)}; };
  const auto best = [](const Size& size) { return Point{size.bytes, size.best_us}; };
  const double own_us =
      grown_us(own(*known[0]), known.size() > 1 ? std::optional(own(*known[1])) : std::nullopt, bytes);
  const double best_us =
      grown_us(best(below[0]), below.size() > 1 ? std::optional(best(below[1])) : std::nullopt, bytes);
  return std::max(own_us / best_us, gaining_ratio);
}

/// Halfway between what the nearest sizes on both sides say; nothing where one of them does not know the plan.
std::optional<double> between(const Plan& plan, const Sources& sources) {
  const auto below = knowing(sources.below, plan), above = knowing(sources.above, plan);
  if (below.empty() || above.empty()) return std::nullopt;
  return std::sqrt(below.front()->ratios.at(plan) * above.front()->ratios.at(plan));
}

double expected(const Plan& plan, const Sources& sources, double bytes) {
  const auto below = knowing(sources.below, plan), above = knowing(sources.above, plan),
             related = knowing(sources.related, plan);
  std::vector<double> says;
  for (const auto* near : {&below, &above})
    if (!near->empty()) says.push_back(near->front()->ratios.at(plan));
  for (const Size* size : related) says.push_back(size->ratios.at(plan));
  const bool tried_near = !below.empty() && below.front() == &sources.below.front();
  if (!below.empty() && above.empty() && (tried_near || related.empty()))
    says.push_back(gained_ratio(sources.below, below, plan, bytes));
  if (!says.empty()) return std::ranges::min(says);
  for (const auto* near : {&sources.below, &sources.above, &sources.related})
    for (const Size& size : *near)
      if (const auto ratio = variant_ratio(size.ratios, plan)) return unknown_ratio * *ratio;
  return unknown_ratio;
}

}  // namespace

bool related(Problem a, const Problem& b) {
  a.dtype = b.dtype;
  a.op = b.op;
  return same_kind(a, b);
}

std::vector<Prospect> prospects(const Session& session, const Problem& problem, const std::vector<Plan>& plans) {
  const std::vector<Problem> measured = session.measured();
  Sources sources;
  add_own(session, problem, measured, sources);
  add_related(session, problem, measured, sources);
  std::vector<Prospect> found;
  for (const Plan& plan : plans) {
    const double ratio = expected(plan, sources, static_cast<double>(std::max<Bytes>(problem.bytes(), 1)));
    found.push_back({plan, ratio, between(plan, sources).value_or(ratio)});
  }
  std::ranges::stable_sort(
      found, {}, [](const Prospect& prospect) { return std::pair(prospect.plan.variant != "vendor", prospect.ratio); });
  return found;
}

}  // namespace attune::tuner
