#pragma once
/// Is a table's choice still good at sizes that it was not tuned on? Measures the tuned plan, the vendor and every
/// other plan within reach, interleaved.
#include <string>
#include <vector>

#include "dispatch/json.h"
#include "src/measure.h"
#include "src/sweep_team.h"

namespace attune::driver {

struct VerifyRequest {
  Bytes min_bytes = 8, max_bytes = Bytes{16} << 20;
  int points = 20;
  int rounds = 40;  ///< Calls of each plan and size; half of them choose the best plan, the other half time it.
  std::vector<DType> dtypes{DType::f32};
  Op op = Op::sum;
  Placement placement = Placement::out_of_place;
  Memory memory = Memory::registered;
  Numerics numerics = Numerics::rank_order;
  tuner::CacheState cache = tuner::CacheState::rewritten;
  std::vector<int> blocks{1};
  std::uint64_t seed = 1;
};

/// Ratios of times with 99 % intervals from pairs of calls; 0, 0 = too few pairs to say.
struct VerifyRatio {
  double median = 1, low = 0, high = 0;
};

struct VerifyPoint {
  Problem problem{};
  Plan tuned{}, best{};
  double tuned_us = 0, best_us = 0, vendor_us = 0;
  VerifyRatio regret{};  ///< tuned / best; 1 = the tuned plan is the best.
  VerifyRatio gain{};    ///< vendor / tuned.
  bool noisy = false;    ///< Too few undisturbed calls: measure on an idle machine.
};

/// Sizes drawn evenly in the logarithm, whole elements, none a power of two (those are what tables are tuned on).
[[nodiscard]] std::vector<Bytes> unseen_sizes(const VerifyRequest& request, Bytes width);

/// Collective. The same on all ranks. Throws Error(unsupported) for less than two ranks.
[[nodiscard]] std::vector<VerifyPoint> verify(SweepTeam& team, Executor& executor, const VerifyRequest& request);

struct VerifySummary {
  double regret_geomean = 0, regret_max = 0;  ///< As fractions: 0.03 = 3 % slower than the best plan.
  double gain_geomean = 1;                    ///< vendor / tuned.
  double worst_vs_vendor = 1;                 ///< The largest tuned / vendor.
};
[[nodiscard]] VerifySummary summary_of(const std::vector<VerifyPoint>& points);
[[nodiscard]] Json to_json(const std::vector<VerifyPoint>& points, const std::string& table);
[[nodiscard]] std::string to_text(const std::vector<VerifyPoint>& points);

}  // namespace attune::driver
