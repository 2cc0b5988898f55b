#pragma once
/// What to use at one measured size, and why.
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/cells.h"

namespace attune::tuner {

/// What the tuner must know of a plan besides its times.
struct PlanFacts {
  Numerics numerics = Numerics::vendor;
  int complexity = 0;  ///< Of two equally good plans the one with the smaller number is taken.
};
/// Nothing: a variant that this build does not know; its cells are left out.
using FactsOf = std::function<std::optional<PlanFacts>(const Plan& plan)>;

/// The facts of this build's own variants: simpler families first, in each the order of variants.txt.
[[nodiscard]] std::optional<PlanFacts> facts_of_variant(const Plan& plan);

enum class Objective : std::uint8_t {
  time,   ///< The fastest plan; ties go to fewer blocks.
  blocks  ///< The fewest blocks within `slack` of the fastest.
};

struct DecisionOptions {
  double tie = 0.02;         ///< Relative difference below which two times count as equal.
  double confidence = 0.99;  ///< Of all intervals: high, because they are looked at many times.
  Objective objective = Objective::time;
  double slack = 0.05;  ///< For Objective::blocks.
  Numerics numerics = Numerics::rank_order;
  RecordFilter filter{};
};

/// One plan that could have been chosen.
struct Candidate {
  Plan plan{};
  int complexity = 0;
  double loss = 0;            ///< Time over the fastest plan's, less 1; from paired rounds.
  bool contends = false;      ///< Measured afresh if any was: may be chosen here.
  bool beats_vendor = false;  ///< Beyond the noise (a ratio over 1.5: by few samples). True if no vendor.
  double to_vendor = 1;       ///< Time over the vendor's.
  Confidence confidence = Confidence::none;
  CellTime time{};
};

struct Decision {
  Problem problem{};
  Bytes bytes = 0;
  Plan chosen{};
  std::string why{};
  bool in_doubt = false;            ///< The vendor, only because nothing beats it beyond the noise.
  std::optional<Plan> runner_up{};  ///< The best of the others.
  Comparison to_runner_up{};        ///< Time of the chosen over the runner-up's.
  Comparison to_vendor{};           ///< Time of the chosen over the vendor's.
  std::optional<double> vendor_us{};
  std::vector<Candidate> candidates{};  ///< All eligible ones, fastest first.

  [[nodiscard]] const Candidate* find(const Plan& plan) const;
};

/// Plans that must not enter a key's table, and why: a variant that was wrong at one size is out at all, a plan that
/// hung or failed at one size is out at all.
class Excluded {
 public:
  explicit Excluded(const KeyCells& key);
  [[nodiscard]] bool contains(const Plan& plan) const {
    return variants_.contains(plan.variant) || plans_.contains(plan);
  }
  [[nodiscard]] const std::vector<std::string>& reasons() const { return reasons_; }
  /// Was the vendor measured at some size? Then nothing is decided at a size where it was not.
  [[nodiscard]] bool needs_vendor() const { return needs_vendor_; }
  /// Were plans compared at some size? Then nothing is decided at a size where one plan alone was tried.
  [[nodiscard]] bool needs_rivals() const { return needs_rivals_; }

 private:
  std::set<std::string> variants_;
  std::set<Plan> plans_;
  std::vector<std::string> reasons_;
  bool needs_vendor_ = false;
  bool needs_rivals_ = false;
};

/// Nothing if no plan is eligible at this size, or the vendor is missing here and was measured elsewhere, or one plan
/// alone was tried here and more elsewhere (a budget ended).
///
/// The fastest is found by medians, then corrected by paired rounds. The vendor is chosen if it is within the tie or if
/// nothing beats it beyond the noise; else, of the plans within the tie that do, the one with the fewest blocks, then
/// the simplest, then the fastest.
[[nodiscard]] std::optional<Decision> decide(const SizeCells& size, const Excluded& excluded, const FactsOf& facts,
                                             const DecisionOptions& options);

/// Where the samples of a size were too few to tell a plan from the vendor, the sizes around speak: if one of the plans
/// that surely beat the vendor by half at the nearest sizes without doubt, on each side that has any, is as far ahead
/// of it here by what was measured, it is taken. `decisions` are those of one key, ascending.
void settle_by_neighbours(std::vector<Decision>& decisions);

}  // namespace attune::tuner
