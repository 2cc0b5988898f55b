#pragma once
/// The ways of tuning that the laboratory compares, and how their tables are scored.
#include "dispatch/table.h"
#include "tests/tuner_lab/machine.h"
#include "tuner/search.h"

namespace attune::tuner::lab {

/// The sizes that are tuned on: powers of two from 8 bytes to 64 MiB.
[[nodiscard]] std::vector<Problem> tuned_sizes(const Machine& machine);

struct Outcome {
  std::vector<Rule> rules;
  std::int64_t samples = 0;
};

/// The tuner's search and decision. `budget` samples; 0: none.
[[nodiscard]] Outcome with_search(Machine& machine, SearchKind kind, std::int64_t budget);

/// What scripts around a benchmark do: every plan the same number of calls, one after the other, the mean of them,
/// the least mean at each size, one rule wherever the winner changes.
[[nodiscard]] Outcome with_plain_means(Machine& machine, std::int64_t budget);

/// What a table of a sweep over many keys has: configs/full.json at two ranks holds 40 of them, and six minutes.
constexpr double short_budget_s = 7.8;

struct ShortOutcome {
  DType dtype = DType::f32;
  std::vector<Rule> rules{};
  double coverage = 0;  ///< Share of the powers of two up to 64 MiB with a decision at most a factor of two away.
  double used = 0;      ///< Of the budget.
};

/// Three related tables one after the other, sizes up to 256 MiB, on a machine whose clock counts what a sweep's does.
[[nodiscard]] std::vector<ShortOutcome> with_short_budgets(Machine& machine, SearchKind kind);

struct Score {
  double regret = 0;        ///< Geometric mean over sizes of the chosen plan's true time over the best one's, less 1.
  double wrong_winner = 0;  ///< Share of sizes at which the chosen plan is more than the tie slower than the best.
  double false_switch = 0;  ///< Share of sizes at which another plan than the vendor is used and the vendor is faster.
  double worst = 0;         ///< Largest regret.
};

/// True times of the rules' choices at `sizes` sizes that were not tuned on, random between 8 bytes and 64 MiB.
[[nodiscard]] Score score(const Machine& machine, const std::vector<Rule>& rules, int sizes, std::uint64_t seed,
                          DType dtype = DType::f32);

}  // namespace attune::tuner::lab
