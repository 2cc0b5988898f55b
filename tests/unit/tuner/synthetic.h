#pragma once
/// Records of invented machines for the tests of decisions.
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tuner/decision.h"

namespace attune::tuner::testing {

inline const Plan vendor{};
inline const Plan mesh{.variant = "mesh"};
inline const Plan two_shot{.variant = "two_shot"};

/// Facts by name: ring and tree are per-hop, everything else rank_order; simpler means earlier in this list.
inline std::optional<PlanFacts> facts(const Plan& plan) {
  const std::vector<std::string> known{"vendor", "push", "mesh", "two_shot", "two_shot_write", "ring", "tree"};
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (plan.variant != known[i] && !(i == 0 && plan.variant.starts_with("vendor:"))) continue;
    const bool per_hop = known[i] == "ring" || known[i] == "tree";
    return PlanFacts{i == 0    ? Numerics::vendor
                     : per_hop ? Numerics::per_hop
                               : Numerics::rank_order,
                     static_cast<int>(i)};
  }
  return std::nullopt;
}

inline Problem problem_of(Bytes bytes) { return {.dtype = DType::f32, .count = bytes / 4, .ranks = 2}; }

/// Journals of interleaved rounds: `rounds` blocks of `calls` for every plan at one size. `noise` is the standard
/// deviation of a sample's logarithm; rounds drift together by `drift`.
class Journalist {
 public:
  explicit Journalist(std::uint64_t seed = 1) : random_(seed) {}

  Journalist& measure(Bytes bytes, const std::vector<std::pair<Plan, double>>& times_us, double noise = 0.01) {
    std::normal_distribution<double> sample(0, noise);
    std::normal_distribution<double> common(0, drift);
    for (int round = 0; round < rounds; ++round) {
      const double shared = common(random_);
      for (const auto& [plan, time_us] : times_us) {
        Record record{.problem = problem_of(bytes), .plan = plan, .launch = launch, .block = round, .stage = stage};
        for (int call = 0; call < calls; ++call)
          record.samples_us.push_back(time_us * std::exp(shared + sample(random_)));
        records.push_back(record);
      }
    }
    return *this;
  }

  std::string launch = "first";
  Stage stage = Stage::search;
  int rounds = 12;
  int calls = 3;
  double drift = 0;
  std::vector<Record> records;

 private:
  std::mt19937_64 random_;
};

}  // namespace attune::tuner::testing
