#include "tuner/session.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "tuner/statistics.h"

namespace attune::tuner {
namespace {

/// A problem without its size.
Problem kind_of(Problem problem) {
  problem.count = problem.rows = problem.cols = 0;
  return problem;
}

}  // namespace

bool same_kind(Problem a, const Problem& b) {
  a.count = b.count;
  a.rows = b.rows;
  a.cols = b.cols;
  return a == b;
}

Session::Session(Runner& runner, SessionOptions options, Sink sink)
    : runner_(runner), options_(std::move(options)), sink_(std::move(sink)), start_s_(runner.now_s()) {}

void Session::start(double budget_s) {
  options_.budget_s = budget_s;
  start_s_ = runner_.now_s();
}

const std::vector<Measured>& Session::round(const Problem& problem, std::span<const Plan> plans, int calls,
                                            Stage stage) {
  const double start = runner_.now_s();
  last_ = runner_.round(problem, plans, calls);
  if (last_.size() != plans.size()) throw Error(Status::internal, "a runner answered for another number of plans");
  note_time(problem, plans, calls, runner_.now_s() - start);
  const int block = rounds_[problem]++;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Measured& measured = last_[i];
    Samples& samples = cells_[problem][{plans[i], stage}];
    samples.us.insert(samples.us.end(), measured.samples_us.begin(), measured.samples_us.end());
    samples_ += static_cast<std::int64_t>(measured.samples_us.size());
    records_.push_back({.status = measured.status,
                        .problem = problem,
                        .plan = plans[i],
                        .launch = options_.launch,
                        .block = block,
                        .stage = stage,
                        .samples_us = measured.samples_us,
                        .rejected = measured.rejected,
                        .converged = converged(samples),
                        .noisy = measured.noisy,
                        .oversubscribed = measured.oversubscribed,
                        .clock = measured.clock,
                        .mode = options_.mode,
                        .cache = options_.cache,
                        .reason = measured.reason,
                        .ran = measured.ran});
    index_[problem].push_back(records_.size() - 1);
    if (sink_) sink_(records_.back());
  }
  return last_;
}

void Session::probe(const Problem& problem, const Plan& plan) {
  const double start = runner_.now_s();
  last_ = runner_.round(problem, std::span(&plan, 1), 1);
  note_time(problem, std::span(&plan, 1), 1, runner_.now_s() - start);
}

std::vector<Record> Session::records_of(std::span<const Problem> problems) const {
  std::vector<Record> found;
  for (const Problem& problem : problems) {
    const auto places = index_.find(problem);
    if (places == index_.end()) continue;
    for (const std::size_t place : places->second) found.push_back(records_[place]);
  }
  return found;
}

bool Session::converged(Samples& samples) const {
  if (samples.us.size() >= samples.next_check && !samples.us.empty()) {
    samples.next_check = samples.us.size() + samples.us.size() / 5 + 1;
    samples.converged = estimate_median(samples.us, options_.confidence).relative_half_width() <= options_.precision;
  }
  return samples.converged;
}

double Session::relative_half_width(const Problem& problem, const Plan& plan, Stage stage) const {
  const auto cells = cells_.find(problem);
  if (cells == cells_.end()) return std::numeric_limits<double>::infinity();
  const auto cell = cells->second.find({plan, stage});
  if (cell == cells->second.end() || cell->second.us.empty()) return std::numeric_limits<double>::infinity();
  return estimate_median(cell->second.us, options_.confidence).relative_half_width();
}

std::map<Plan, double> Session::medians_of(const Problem& problem) const {
  std::map<Plan, double> medians;
  const auto cells = cells_.find(problem);
  if (cells == cells_.end()) return medians;
  for (const auto& [name, samples] : cells->second)
    if (name.second == Stage::search && !samples.us.empty()) medians[name.first] = median(samples.us);
  return medians;
}

std::vector<Problem> Session::measured() const {
  std::vector<Problem> problems;
  for (const auto& [problem, cells] : cells_) problems.push_back(problem);
  return problems;
}

const Session::Seen* Session::seen(const Problem& problem) const {
  const auto kind = pace_.find(kind_of(problem));
  if (kind == pace_.end()) return nullptr;
  const auto size = kind->second.find(problem.bytes());
  if (size == kind->second.end()) return nullptr;
  const auto own = size->second.find(problem);
  return own == size->second.end() ? nullptr : &own->second;
}

void Session::note_time(const Problem& problem, std::span<const Plan> plans, int calls, double seconds) {
  Seen& seen = pace_[kind_of(problem)][problem.bytes()][problem];
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const double setup_s = std::min(last_[i].setup_s, seconds);
    seconds -= setup_s;
    if (first_setup_s_.emplace(plans[i], setup_s).second) {
      seen.least_first_s = std::min(seen.least_first_s, setup_s);
    } else if (!seen.plans.contains(plans[i])) {
      seen.setups_s += setup_s;
      ++seen.setups;
    }
    seen.plans.insert(plans[i]);
  }
  seen.calls_s += seconds;
  seen.calls += static_cast<std::int64_t>(plans.size()) * calls;
}

/// What a plan costs that has run elsewhere. Where all were new to the session, the least is nearest to it.
Session::Pace Session::Seen::pace() const {
  const double first_s = std::isinf(least_first_s) ? 0 : least_first_s;
  return {calls_s / static_cast<double>(std::max<std::int64_t>(calls, 1)),
          setups > 0 ? setups_s / static_cast<double>(setups) : first_s};
}

/// By the two nearest smaller sizes: their growth and a little more, in proportion to the bytes at most and never
/// shrinking; no more than what a larger size takes.
Session::Pace Session::trend(const std::vector<Known>& known, Bytes bytes) {
  constexpr double caution = 0.25;
  const auto above = std::ranges::upper_bound(known, bytes, {}, &Known::first);
  if (above == known.begin()) return above->second;
  const Known& near = *std::prev(above);
  const auto ratio_of = [](Bytes more, Bytes less) {
    return static_cast<double>(std::max<Bytes>(more, 1)) / static_cast<double>(std::max<Bytes>(less, 1));
  };
  const double far = ratio_of(bytes, near.first);
  const auto grown = [&](double Pace::*part) {
    double power = 1;
    if (std::prev(above) != known.begin()) {
      const Known& before = *std::prev(above, 2);
      const double growth = std::max(near.second.*part, 1e-9) / std::max(before.second.*part, 1e-9);
      power = std::clamp(std::log(growth) / std::max(std::log(ratio_of(near.first, before.first)), 1e-9) + caution, 0.0,
                         1.0);
    }
    const double seconds = near.second.*part * std::pow(far, power);
    return above == known.end() ? seconds : std::min(seconds, std::max(above->second.*part, near.second.*part));
  };
  return {grown(&Pace::call_s), grown(&Pace::setup_s)};
}

std::vector<Session::Known> Session::paces(const Kind& kind) {
  std::vector<Known> known;
  for (const auto& [bytes, problems] : kind) known.emplace_back(bytes, problems.rbegin()->second.pace());
  return known;
}

/// What this size took in other tables, in proportion to what they and this one took at the nearest smaller size that
/// both know.
std::optional<Session::Pace> Session::by_others(const Problem& problem, const Kind* own) const {
  std::vector<double> calls, setups;
  for (const auto& [name, kind] : pace_) {
    const auto there = kind.find(problem.bytes());
    if (&kind == own || there == kind.end()) continue;
    Pace pace = there->second.rbegin()->second.pace();
    for (auto near = own == nullptr ? kind.begin() : there; near != kind.begin();) {
      --near;
      const auto mine = own->find(near->first);
      if (mine == own->end()) continue;
      const Pace a = mine->second.rbegin()->second.pace(), b = near->second.rbegin()->second.pace();
      pace.call_s *= std::clamp(a.call_s / std::max(b.call_s, 1e-12), 0.5, 3.0);
      pace.setup_s *= std::clamp(a.setup_s / std::max(b.setup_s, 1e-12), 0.5, 3.0);
      break;
    }
    calls.push_back(pace.call_s);
    setups.push_back(pace.setup_s);
  }
  if (calls.empty()) return std::nullopt;
  return Pace{median(calls), median(setups)};
}

Session::Pace Session::pace_of(const Problem& problem) const {
  if (const Seen* own = seen(problem)) return own->pace();
  const auto kind = pace_.find(kind_of(problem));
  const Kind* alike = kind == pace_.end() ? nullptr : &kind->second;
  if (const auto pace = by_others(problem, alike)) return *pace;
  if (alike != nullptr) return trend(paces(*alike), problem.bytes());
  std::map<Bytes, Pace> other;
  for (const auto& [name, sizes] : pace_)
    for (const auto& [bytes, pace] : paces(sizes)) other[bytes] = pace;
  return other.empty() ? Pace{} : trend({other.begin(), other.end()}, problem.bytes());
}

/// Of plans that are new to the session: the median of those that were.
double Session::usual_first_setup_s() const {
  std::vector<double> all;
  for (const auto& [plan, seconds] : first_setup_s_) all.push_back(seconds);
  return all.empty() ? 0 : median(all);
}

double Session::expected_s(const Problem& problem, std::span<const Plan> plans, std::int64_t calls) const {
  const Pace pace = pace_of(problem);
  const Seen* own = seen(problem);
  double seconds = static_cast<double>(static_cast<std::int64_t>(plans.size()) * calls) * pace.call_s;
  for (const Plan& plan : plans) {
    if (own != nullptr && own->plans.contains(plan)) continue;
    seconds += first_setup_s_.contains(plan) ? pace.setup_s : std::max(pace.setup_s, usual_first_setup_s());
  }
  return seconds;
}

double Session::left_s(double share) {
  if (options_.budget_s <= 0) return std::numeric_limits<double>::infinity();
  return share * options_.budget_s - elapsed_s();
}

}  // namespace attune::tuner
