#include "tuner/race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tuner/statistics.h"

namespace attune::tuner {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double tie_confidence = 0.95;

/// Round by round, where both were measured.
std::vector<double> differences(std::span<const double> a, std::span<const double> b) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (!std::isnan(a[i]) && !std::isnan(b[i])) result.push_back(a[i] - b[i]);
  return result;
}

double level_of(std::span<const double> log_times) {
  std::vector<double> present;
  std::ranges::copy_if(log_times, std::back_inserter(present), [](double time) { return !std::isnan(time); });
  return present.empty() ? never : median(present);
}

/// Of choosing the leader: mean of what `other` may be faster by, its mean advantage taken as normal.
double expected_loss(std::span<const double> other, std::span<const double> leader) {
  constexpr double least_deviation = 0.005, unknown_deviation = 0.3;
  constexpr double root_two_pi = 2.5066282746310002;
  const std::vector<double> apart = differences(other, leader);
  if (apart.empty()) return unknown_deviation;
  const double middle = median(apart);
  double squares = 0;
  for (const double one : apart) squares += std::min((one - middle) * (one - middle), 1.0);
  const auto n = static_cast<double>(apart.size());
  const double deviation = n < 2 ? unknown_deviation : std::max(std::sqrt(squares / (n - 1)), least_deviation);
  const double error = deviation / std::sqrt(n);
  const double z = std::max(middle, 0.0) / error;
  return error * (std::exp(-z * z / 2) / root_two_pi - z * std::erfc(z / std::sqrt(2.0)) / 2);
}

}  // namespace

Race::Race(Problem problem, std::vector<Plan> candidates, RaceOptions options)
    : problem_(problem), options_(options), started_with_(candidates.size()) {
  for (Plan& plan : candidates) entries_.push_back({std::move(plan), true, {}, never});
  finished_ = entries_.empty();
}

bool Race::has(const Plan& plan) const { return std::ranges::find(entries_, plan, &Entry::plan) != entries_.end(); }

void Race::admit(std::span<const Plan> late) {
  for (const Plan& plan : late)
    entries_.push_back({plan, true, std::vector<double>(static_cast<std::size_t>(rounds_), std::nan("")), never});
  started_with_ += late.size();
  fresh_ = true;
  finished_ = entries_.empty();
}

bool Race::long_calls(const Session& session) const { return session.expected_call_s(problem_) > options_.long_call_s; }

int Race::next_rounds(bool long_calls) const {
  if (!fresh_) return rounds_;
  return long_calls ? options_.long_rounds : options_.first_rounds;
}

std::int64_t Race::next_calls(const Session& session) const {
  const bool one_by_one = long_calls(session);
  return std::int64_t{next_rounds(one_by_one)} * (one_by_one ? 1 : options_.calls);
}

double Race::doubt() const {
  const Entry* leader = best();
  if (leader == nullptr) return 0;
  double worst = 0;
  for (const Entry& entry : entries_)
    if (entry.alive && &entry != leader) worst = std::max(worst, expected_loss(entry.log_times, leader->log_times));
  return worst;
}

std::vector<Plan> Race::survivors() const {
  std::vector<const Entry*> alive;
  for (const Entry& entry : entries_)
    if (entry.alive) alive.push_back(&entry);
  std::ranges::stable_sort(alive, {}, &Entry::level);
  std::vector<Plan> plans;
  for (const Entry* entry : alive) plans.push_back(entry->plan);
  return plans;
}

void Race::note(Entry& entry, const Measured& measured) {
  if (measured.status != CellStatus::ok) entry.alive = false;
  const bool any = measured.status == CellStatus::ok && !measured.samples_us.empty();
  entry.log_times.push_back(any ? std::log(std::max(median(measured.samples_us), 1e-9)) : std::nan(""));
}

void Race::step(Session& session) {
  const bool one_by_one = long_calls(session);
  const int wanted = next_rounds(one_by_one);
  int rounds = 0;
  for (; rounds < wanted && (rounds == 0 || session.left_s(1) > 0); ++rounds) {
    std::vector<Plan> plans;
    std::vector<Entry*> running;
    for (Entry& entry : entries_)
      if (entry.alive) plans.push_back(entry.plan), running.push_back(&entry);
    if (plans.empty()) break;
    const auto& measured = session.round(problem_, plans, one_by_one ? 1 : options_.calls, Stage::search);
    for (std::size_t i = 0; i < running.size(); ++i) note(*running[i], measured[i]);
  }
  rounds_ += rounds;
  for (Entry& entry : entries_) entry.level = level_of(entry.log_times);
  if (options_.eliminate && fresh_) drop_hopeless();
  fresh_ = false;
  if (options_.eliminate) drop_slower();
  ++rung_;
  finished_ = rung_ >= options_.rungs || settled(session);
}

bool Race::settled(const Session& session) const {
  const auto alive = std::ranges::count_if(entries_, &Entry::alive);
  if (alive == 0 || (options_.eliminate && (alive == 1 || tied()))) return true;
  return !options_.eliminate && std::ranges::all_of(entries_, [&](const Entry& entry) {
    return !entry.alive ||
           session.relative_half_width(problem_, entry.plan, Stage::search) <= session.options().precision;
  });
}

const Race::Entry* Race::best() const {
  const Entry* best = nullptr;
  for (const Entry& entry : entries_)
    if (entry.alive && entry.level < never && (best == nullptr || entry.level < best->level)) best = &entry;
  return best;
}

void Race::drop_hopeless() {
  const Entry* leader = best();
  if (leader == nullptr) return;
  const double limit = leader->level + std::log(options_.hopeless);
  for (Entry& entry : entries_)
    if (entry.level < never && entry.level > limit) entry.alive = false;
}

void Race::drop_slower() {
  const Entry* leader = best();
  if (leader == nullptr) return;
  // Bonferroni over every comparison that the race may make.
  const double alpha = options_.alpha / static_cast<double>(started_with_) / options_.rungs;
  for (Entry& entry : entries_)
    if (&entry != leader && entry.alive &&
        wilcoxon_signed_rank(differences(entry.log_times, leader->log_times), Tail::greater) <= alpha)
      entry.alive = false;
}

bool Race::tied() const {
  const Entry* leader = best();
  return leader != nullptr && std::ranges::all_of(entries_, [&](const Entry& entry) {
           if (!entry.alive || &entry == leader) return true;
           const auto apart = differences(entry.log_times, leader->log_times);
           if (apart.empty()) return false;
           const auto shift = hodges_lehmann(apart, tie_confidence);
           return shift.interval && shift.interval->high < std::log1p(options_.tie);
         });
}

}  // namespace attune::tuner
