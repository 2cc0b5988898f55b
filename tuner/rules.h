#pragma once
/// From decisions at measured sizes to the fewest rules that say nearly the same, and where one rule gives way to
/// the next between two sizes.
#include <vector>

#include "tuner/decision.h"

namespace attune::tuner {

/// A rule and the decisions (by index) that it spans.
struct RuleSpan {
  Rule rule{};
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Decisions ascending in size, at least one. `previous` may be null: the rules that held before.
///
/// Dynamic programming over (size, plan): a plan may stand at a size if it is the chosen one, or loses no more than the
/// tie against the fastest there (and, where the vendor was chosen, is not slower than it; and, under
/// Objective::blocks, takes no more blocks than the chosen one). Among all such sequences, in this order: fewest
/// departures from what `previous` says where that may stand (hysteresis: a table changes only for a gain above the
/// tie), fewest rules, most sizes with their chosen plan, least loss.
///
/// A rule begins where the two plans' times cross, interpolated in the logarithms of size and time, if both were
/// measured on both sides; else at the geometric middle; and where `previous` switched between the same two plans in
/// that gap, there.
[[nodiscard]] std::vector<RuleSpan> compact(const std::vector<Decision>& decisions, const KeyedRules* previous,
                                            const DecisionOptions& options);

}  // namespace attune::tuner
