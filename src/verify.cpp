#include "src/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "runtime/cuda_device.h"
#include "tuner/statistics.h"
#include "variants/registry.h"

namespace attune::driver {

namespace {
constexpr double ratio_confidence = 0.99;
constexpr int attempts_per_round = 3;
constexpr int enough_rounds = 16;  // 8 for each half: below, no interval of this confidence exists

/// The times of all plans at one size; [plan][round].
struct Rounds {
  std::vector<Plan> plans{};
  std::vector<std::vector<double>> times{};
  bool noisy = false;  ///< Too few rounds in which every call was undisturbed: the disturbed ones count, too.
};
struct Round {
  std::vector<double> times{};
  bool good = true;
};

/// The tuned plan first, then the vendor, then every other plan that may answer in this numerics class.
std::vector<Plan> plans_for(const Communicator& comm, const Executor& executor, const Problem& problem,
                            const VerifyRequest& request) {
  std::vector<Plan> plans{comm.find(problem).plan()};
  const auto add = [&](const Plan& plan) {
    const bool known = std::find(plans.begin(), plans.end(), plan) != plans.end();
    if (!known && executor.why_not(comm, problem, plan).empty()) plans.push_back(plan);
  };
  add(Plan{});
  for (const auto& info : variant_table) {
    if (info.name == "vendor" || !admits(request.numerics, info.traits.numerics)) continue;
    for (const int blocks : request.blocks)
      if (blocks <= info.traits.max_blocks) {
        const bool composite = info.composite || comm.device() == DeviceKind::host;
        add({.variant = std::string(info.name), .blocks = blocks, .threads = composite ? 1 : cuda::default_threads});
      }
  }
  return plans;
}

/// One call of every plan, in an order that is drawn anew (the same on all ranks).
Round one_round(Measurer& measurer, const Problem& problem, const std::vector<Plan>& plans, std::mt19937_64& random) {
  std::vector<std::size_t> order(plans.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  Round round{.times = std::vector<double>(plans.size())};
  for (const std::size_t i : order) {
    const auto block = measurer.block(problem, plans[i], 0, 1);
    if (block.status != tuner::CellStatus::ok)
      throw Error(block.status == tuner::CellStatus::timed_out ? Status::timeout : Status::internal, block.reason);
    round.good = round.good && !block.accepted_us.empty();
    round.times[i] = block.accepted_us.empty() ? block.refused_us.front() : block.accepted_us.front();
  }
  return round;
}

Rounds measure(Measurer& measurer, const Problem& problem, std::vector<Plan> plans, int rounds,
               std::mt19937_64& random) {
  Rounds good{.plans = std::move(plans)};
  good.times.resize(good.plans.size());
  Rounds all = good;
  (void)one_round(measurer, problem, good.plans, random);  // warms up
  for (int attempt = 0; attempt < rounds * attempts_per_round; ++attempt) {
    if (static_cast<int>(good.times.front().size()) == rounds) break;
    const Round round = one_round(measurer, problem, good.plans, random);
    for (std::size_t i = 0; i < round.times.size(); ++i) {
      all.times[i].push_back(round.times[i]);
      if (round.good) good.times[i].push_back(round.times[i]);
    }
  }
  all.noisy = true;
  return static_cast<int>(good.times.front().size()) >= std::min(rounds, enough_rounds) ? good : all;
}

/// Every second sample, from `first` on.
std::vector<double> half_of(const std::vector<double>& times, std::size_t first) {
  std::vector<double> half;
  for (std::size_t i = first; i < times.size(); i += 2) half.push_back(times[i]);
  return half.empty() ? times : half;
}

VerifyRatio ratio_of(const std::vector<double>& a, const std::vector<double>& b) {
  const auto shift = tuner::hodges_lehmann(tuner::log_ratios(a, b), ratio_confidence);
  VerifyRatio ratio{.median = std::exp(shift.shift)};
  if (shift.interval) {
    ratio.low = std::exp(shift.interval->low);
    ratio.high = std::exp(shift.interval->high);
  }
  return ratio;
}

/// The smallest of many noisy medians is too small: one half of the rounds chooses the best plan, the other times it.
VerifyPoint judge(const Problem& problem, const Rounds& rounds) {
  VerifyPoint point{.problem = problem, .tuned = rounds.plans.front(), .noisy = rounds.noisy};
  std::size_t best = 0, vendor = 0;
  std::vector<double> medians;
  for (std::size_t i = 0; i < rounds.plans.size(); ++i) {
    medians.push_back(tuner::median(half_of(rounds.times[i], 0)));
    if (medians[i] < medians[best]) best = i;
    if (rounds.plans[i].variant == "vendor") vendor = i;
  }
  point.best = rounds.plans[best];
  point.tuned_us = tuner::median(half_of(rounds.times.front(), 1));
  point.best_us = tuner::median(half_of(rounds.times[best], 1));
  point.vendor_us = tuner::median(half_of(rounds.times[vendor], 1));
  if (best != 0) point.regret = ratio_of(half_of(rounds.times.front(), 1), half_of(rounds.times[best], 1));
  if (vendor != 0) point.gain = ratio_of(half_of(rounds.times[vendor], 1), half_of(rounds.times.front(), 1));
  return point;
}

std::string ratio_text(const VerifyRatio& ratio) {
  return ratio.high > 0 ? fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.median, ratio.low, ratio.high)
                        : fmt::format("{:.3f}", ratio.median);
}

Json json_of(const VerifyRatio& ratio) {
  return {{"median", ratio.median}, {"ci", ratio.high > 0 ? Json{ratio.low, ratio.high} : Json()}};
}
}  // namespace

std::vector<Bytes> unseen_sizes(const VerifyRequest& request, Bytes width) {
  std::mt19937_64 random(request.seed);
  const double low = std::log(static_cast<double>(std::max(request.min_bytes, width)));
  const double high = std::log(static_cast<double>(std::max(request.max_bytes, width)));
  std::vector<Bytes> sizes;
  for (int i = 0; i < request.points; ++i) {
    const double at = (i + std::generate_canonical<double, 53>(random)) / request.points;  // one in each stratum
    auto count = std::max<Index>(1, std::llround(std::exp(low + at * (high - low))) / width);
    if (std::has_single_bit(static_cast<std::uint64_t>(count)) && count > 2) --count;
    if (sizes.empty() || sizes.back() != count * width) sizes.push_back(count * width);
  }
  return sizes;
}

std::vector<VerifyPoint> verify(SweepTeam& team, Executor& executor, const VerifyRequest& request) {
  if (team.size() < 2)
    throw Error(Status::unsupported, "verify: one rank has nothing to verify", "use mpirun -n 2 or more");
  Measurer measurer(team, executor, {tuner::Mode::latency, request.cache, 1});
  std::mt19937_64 random(request.seed);
  std::vector<VerifyPoint> points;
  for (const DType dtype : request.dtypes)
    for (const Bytes bytes : unseen_sizes(request, size_of(dtype))) {
      Problem problem{.dtype = dtype,
                      .op = request.op,
                      .count = bytes / size_of(dtype),
                      .ranks = team.size(),
                      .placement = request.placement,
                      .memory = request.memory};
      auto plans = plans_for(team.comm(), executor, problem, request);
      points.push_back(judge(problem, measure(measurer, problem, std::move(plans), request.rounds, random)));
    }
  return points;
}

VerifySummary summary_of(const std::vector<VerifyPoint>& points) {
  std::vector<double> regrets, gains;
  VerifySummary summary{.worst_vs_vendor = 0};
  for (const auto& point : points) {
    regrets.push_back(point.regret.median);
    gains.push_back(point.gain.median);
    summary.regret_max = std::max(summary.regret_max, point.regret.median - 1);
    summary.worst_vs_vendor = std::max(summary.worst_vs_vendor, 1 / point.gain.median);
  }
  summary.regret_geomean = tuner::geometric_mean(regrets) - 1;
  summary.gain_geomean = tuner::geometric_mean(gains);
  return summary;
}

Json to_json(const std::vector<VerifyPoint>& points, const std::string& table) {
  const VerifySummary summary = summary_of(points);
  Json json{{"table", table},
            {"regret_geomean", summary.regret_geomean},
            {"regret_max", summary.regret_max},
            {"gain_geomean", summary.gain_geomean},
            {"worst_vs_vendor", summary.worst_vs_vendor},
            {"points", Json::array()}};
  for (const auto& point : points)
    json["points"].push_back({{"problem", to_json(point.problem)},
                              {"bytes", point.problem.bytes()},
                              {"tuned", to_json(point.tuned)},
                              {"best", to_json(point.best)},
                              {"tuned_us", point.tuned_us},
                              {"best_us", point.best_us},
                              {"vendor_us", point.vendor_us},
                              {"regret", json_of(point.regret)},
                              {"gain", json_of(point.gain)},
                              {"noisy", point.noisy}});
  return json;
}

std::string to_text(const std::vector<VerifyPoint>& points) {
  std::string text = fmt::format("{:>10} {:>6}  {:>10} {:>10} {:>10}  {:<24} {:<24} tuned, and best if another\n",
                                 "bytes", "dtype", "tuned us", "best us", "vendor us", "tuned/best", "vendor/tuned");
  for (const auto& point : points)
    text += fmt::format("{:>10} {:>6}  {:>10.2f} {:>10.2f} {:>10.2f}  {:<24} {:<24} {}{}{}\n", point.problem.bytes(),
                        name_of(point.problem.dtype), point.tuned_us, point.best_us, point.vendor_us,
                        ratio_text(point.regret), ratio_text(point.gain), to_string(point.tuned),
                        point.best == point.tuned ? "" : "; " + to_string(point.best), point.noisy ? " (noisy)" : "");
  const VerifySummary summary = summary_of(points);
  return text + fmt::format(
                    "regret: geometric mean {:.2f} %, worst {:.2f} %; gain over the vendor: geometric mean "
                    "{:.2f}, worst {:.2f}\n",
                    100 * summary.regret_geomean, 100 * summary.regret_max, summary.gain_geomean,
                    1 / summary.worst_vs_vendor);
}

}  // namespace attune::driver
