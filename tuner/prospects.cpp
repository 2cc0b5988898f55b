#include "tuner/prospects.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace attune::tuner {
namespace {

constexpr double unknown_ratio = 1.2;
constexpr double gaining_ratio = 1.1;  ///< At best, of a plan that gains on the winner: behind what has won already.
constexpr std::size_t most_sizes = 4;
constexpr std::size_t most_related = 3;

/// Times over the best one's at one problem.
using Ratios = std::map<Plan, double>;

Ratios ratios_at(const Session& session, const Problem& problem) {
  Ratios ratios = session.medians_of(problem);
  double best = 0;
  for (const auto& [plan, time] : ratios) best = best == 0 ? time : std::min(best, time);
  for (auto& [plan, time] : ratios) time /= std::max(best, 1e-12);
  return ratios;
}

std::optional<double> ratio_of(const Ratios& ratios, const Plan& plan) {
  const auto own = ratios.find(plan);
  return own == ratios.end() ? std::nullopt : std::optional(own->second);
}

/// Of the best plan of the same variant.
std::optional<double> variant_ratio(const Ratios& ratios, const Plan& plan) {
  std::optional<double> best;
  for (const auto& [other, ratio] : ratios)
    if (other.variant == plan.variant && (!best || ratio < *best)) best = ratio;
  return best;
}

struct Sources {
  std::vector<Ratios> below;  ///< Smaller sizes of the table, the nearest first.
  std::vector<Ratios> above;  ///< Larger ones, the nearest first.
  std::vector<Ratios> related;
};

void add_own(const Session& session, const Problem& problem, const std::vector<Problem>& measured, Sources& sources) {
  std::vector<Problem> own;
  std::ranges::copy_if(measured, std::back_inserter(own), [&](const Problem& other) {
    return same_kind(other, problem) && other.bytes() != problem.bytes();
  });
  std::ranges::sort(own, {}, [](const Problem& other) { return other.bytes(); });
  const auto above = std::ranges::upper_bound(own, problem.bytes(), {}, [](const Problem& p) { return p.bytes(); });
  for (auto at = above; at != own.end() && sources.above.size() < most_sizes; ++at)
    sources.above.push_back(ratios_at(session, *at));
  for (auto at = above; at != own.begin() && sources.below.size() < most_sizes;)
    sources.below.push_back(ratios_at(session, *--at));
}

void add_related(const Session& session, const Problem& problem, const std::vector<Problem>& measured,
                 Sources& sources) {
  std::vector<Ratios> found;
  for (const Problem& other : measured) {
    const double apart = std::abs(std::log2(static_cast<double>(std::max<Bytes>(other.bytes(), 1)) /
                                            static_cast<double>(std::max<Bytes>(problem.bytes(), 1))));
    if (apart <= 1 && !same_kind(other, problem) && related(other, problem)) found.push_back(ratios_at(session, other));
  }
  std::ranges::stable_sort(found, std::greater{}, &Ratios::size);  // those that tried the most plans
  if (found.size() > most_related) found.resize(most_related);
  sources.related = std::move(found);
}

/// What the nearest sizes say that know the plan: the ratio there, and where it would be if it went on as before.
std::vector<double> along(const std::vector<Ratios>& sizes, const Plan& plan) {
  std::vector<double> known;
  for (const Ratios& ratios : sizes)
    if (const auto ratio = ratio_of(ratios, plan); ratio && known.size() < 2) known.push_back(*ratio);
  if (known.size() == 2) known[1] = std::max(known[0] * known[0] / known[1], gaining_ratio);
  return known;
}

double expected(const Plan& plan, const Sources& sources) {
  std::vector<double> says = along(sources.below, plan);
  if (!sources.above.empty()) {  // between two sizes nothing has to go on
    if (says.size() > 1) says.pop_back();
    if (const auto near = along(sources.above, plan); !near.empty()) says.push_back(near.front());
  }
  for (const Ratios& ratios : sources.related)
    if (const auto ratio = ratio_of(ratios, plan)) says.push_back(*ratio);
  if (!says.empty()) return std::ranges::min(says);
  for (const auto* near : {&sources.below, &sources.above, &sources.related})
    for (const Ratios& ratios : *near)
      if (const auto ratio = variant_ratio(ratios, plan)) return unknown_ratio * *ratio;
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
  for (const Plan& plan : plans) found.push_back({plan, expected(plan, sources)});
  std::ranges::stable_sort(
      found, {}, [](const Prospect& prospect) { return std::pair(prospect.plan.variant != "vendor", prospect.ratio); });
  return found;
}

}  // namespace attune::tuner
