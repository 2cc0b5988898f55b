#include "tuner/session.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "tuner/statistics.h"

namespace attune::tuner {
namespace {

/// Same kind of problem: equal but for the size.
bool same_kind(Problem a, const Problem& b) {
  a.count = b.count;
  a.rows = b.rows;
  a.cols = b.cols;
  return a == b;
}

}  // namespace

Session::Session(Runner& runner, SessionOptions options, Sink sink)
    : runner_(runner), options_(std::move(options)), sink_(std::move(sink)), start_s_(runner.now_s()) {}

const std::vector<Measured>& Session::round(const Problem& problem, std::span<const Plan> plans, int calls,
                                            Stage stage) {
  const double start = runner_.now_s();
  last_ = runner_.round(problem, plans, calls);
  if (last_.size() != plans.size()) throw Error(Status::internal, "a runner answered for another number of plans");
  Pace& pace = pace_[problem];
  pace.seconds += runner_.now_s() - start;
  pace.calls += static_cast<std::int64_t>(plans.size()) * calls;
  const int block = rounds_[problem]++;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Measured& measured = last_[i];
    Samples& samples = cells_[{problem, plans[i], stage}];
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
                        .mode = options_.mode,
                        .cache = options_.cache,
                        .reason = measured.reason});
    index_[problem].push_back(records_.size() - 1);
    if (sink_) sink_(records_.back());
  }
  return last_;
}

void Session::probe(const Problem& problem, const Plan& plan) {
  const double start = runner_.now_s();
  (void)runner_.round(problem, std::span(&plan, 1), 1);
  Pace& pace = pace_[problem];
  pace.seconds += runner_.now_s() - start;
  ++pace.calls;
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
  const auto cell = cells_.find({problem, plan, stage});
  if (cell == cells_.end() || cell->second.us.empty()) return std::numeric_limits<double>::infinity();
  return estimate_median(cell->second.us, options_.confidence).relative_half_width();
}

double Session::expected_s(const Problem& problem, std::int64_t calls) const {
  const auto amount = static_cast<double>(calls);
  const auto own = pace_.find(problem);
  if (own != pace_.end())
    return amount * own->second.seconds / static_cast<double>(std::max<std::int64_t>(own->second.calls, 1));
  // Another kind of problem counts as far away, but is better than no idea.
  constexpr double another_kind = 1e3;
  double nearest = std::numeric_limits<double>::infinity();
  double seconds = 0;
  for (const auto& [known, pace] : pace_) {
    if (pace.calls == 0) continue;
    const double ratio = static_cast<double>(std::max<Bytes>(problem.bytes(), 1)) /
                         static_cast<double>(std::max<Bytes>(known.bytes(), 1));
    const double distance = std::abs(std::log(ratio)) + (same_kind(known, problem) ? 0 : another_kind);
    if (distance >= nearest) continue;
    nearest = distance;
    // Time grows with size in proportion at most, and may not shrink at all.
    seconds = pace.seconds / static_cast<double>(pace.calls) * std::max(1.0, ratio);
  }
  return amount * seconds;
}

double Session::left_s(double share) {
  if (options_.budget_s <= 0) return std::numeric_limits<double>::infinity();
  return share * options_.budget_s - elapsed_s();
}

}  // namespace attune::tuner
