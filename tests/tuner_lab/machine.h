#pragma once
/// Simulated machines: times from the variants' cost cards and a few constants, with the kinds of noise that real
/// journals show. Everything follows from the seed.
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tuner/runner.h"

namespace attune::tuner::lab {

/// Constants of one kind of machine. Times in µs, speeds in bytes per µs (= MB/s).
struct Kind {
  std::string name;
  int ranks = 2;
  double call_us = 0.1;      ///< What any call costs.
  double step_us = 0.15;     ///< One dependent remote step.
  double barrier_us = 0.25;  ///< One team barrier.
  double peer_speed = 6000;  ///< One block, data in cache.
  double local_speed = 12000;
  double cache_bytes = 8 << 20;  ///< Beyond it speeds fall to `memory_share`.
  double memory_share = 0.4;
  double block_us = 0.4;    ///< Waking one more block.
  double block_gain = 0.6;  ///< n blocks are n^gain times as fast.
  double vendor_call_us = 0.6;
  double vendor_factor = 2.0;  ///< The vendor's copies per byte over the least possible.
  double quirk = 0.06;         ///< Differences between plans that no card knows, smooth in size.

  double noise = 0.02;      ///< Standard deviation of a sample's logarithm.
  double correlation = 0;   ///< Of successive samples of one plan.
  double drift = 0;         ///< Of all plans together, per square root of 1000 samples.
  double outliers = 0.002;  ///< Share of samples hit by an interrupt of 5…500 µs…
  double spikes = 0.002;    ///< …and of samples that take 1.5…4 times as long.
  double modes = 0;         ///< Share of plans that have two modes, changing every few hundred samples…
  double mode_gap = 0.15;   ///< …this far apart.

  std::vector<int> blocks{1, 2, 4, 8};  ///< That its sweep tries.
  int size_factor = 2;                  ///< From one tuned size to the next.
};

/// What the machine's clock counts, in seconds.
struct Clock {
  double sample = 1e-6;  ///< Any sample: methods are then compared at equal numbers of them.
  bool times = false;    ///< What a sample took, too,
  double per_byte = 0;   ///< and rewriting its input.
  double setup = 0;      ///< A plan that is new at a size: validation, first calls.
  double setup_per_byte = 0;

  /// As a sweep on the 2-core machine counts it.
  [[nodiscard]] static Clock real() { return {25e-6, true, 4e-10, 1.2e-3, 4e-8}; }
};

/// The kinds that the laboratory runs.
[[nodiscard]] std::vector<Kind> all_kinds();

class Machine : public Runner {
 public:
  Machine(Kind kind, std::uint64_t seed, const Clock& clock = {});

  /// What a plan takes without noise: the truth that choices are scored against.
  [[nodiscard]] double true_us(const Plan& plan, Bytes bytes, DType dtype = DType::f32) const;
  /// Every plan that the simulated sweep knows.
  [[nodiscard]] const std::vector<Plan>& plans() const { return plans_; }
  [[nodiscard]] const Kind& kind() const { return kind_; }

  /// One noisy sample.
  [[nodiscard]] double sample_us(const Plan& plan, Bytes bytes, DType dtype = DType::f32);
  [[nodiscard]] std::vector<Measured> round(const Problem& problem, std::span<const Plan> plans,
                                            int calls_per_plan) override;
  [[nodiscard]] double now_s() override { return now_s_; }
  [[nodiscard]] std::int64_t samples() const { return samples_; }

 private:
  struct State {
    double phase = 0;                ///< Of the quirk's waves.
    double level = 0;                ///< The quirk's constant part.
    std::map<DType, double> lean{};  ///< And what other dtypes add to it.
    double correlated = 0;
    bool two_modes = false;
    bool slow = false;
  };
  [[nodiscard]] double card_us(const Plan& plan, double bytes) const;
  [[nodiscard]] double vendor_us(double bytes) const;
  [[nodiscard]] double speed_share(double working_set) const;

  Kind kind_;
  std::mt19937_64 random_;
  std::vector<Plan> plans_;
  std::map<Plan, State> states_;
  double drift_ = 0;
  std::int64_t samples_ = 0;
  Clock clock_;
  double now_s_ = 0;
  std::set<std::pair<Problem, Plan>> seen_;
};

}  // namespace attune::tuner::lab
