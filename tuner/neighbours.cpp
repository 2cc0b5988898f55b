/// What the sizes around say where a size's own samples are too few.
#include "tuner/decision.h"

namespace attune::tuner {
namespace {

constexpr double far_ahead = 1.5;  ///< Of the vendor: no drift of a machine is that large.

bool is_far_ahead(const Decision& decision) {
  return decision.chosen.variant != "vendor" && decision.to_vendor.surely_less() &&
         decision.to_vendor.ratio * far_ahead <= 1;
}

/// The best by what was measured here of those two plans.
const Candidate* best_of(const Decision& decision, const Decision* below, const Decision* above) {
  for (const Candidate& candidate : decision.candidates) {  // fastest first
    const bool wins_nearby =
        (below != nullptr && candidate.plan == below->chosen) || (above != nullptr && candidate.plan == above->chosen);
    if (wins_nearby && candidate.contends && candidate.to_vendor * far_ahead <= 1) return &candidate;
  }
  return nullptr;
}

}  // namespace

void settle_by_neighbours(std::vector<Decision>& decisions) {
  const std::vector<Decision> before = decisions;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (!before[i].in_doubt) continue;
    const Decision* below = nullptr;
    const Decision* above = nullptr;
    for (std::size_t j = i; j-- > 0 && below == nullptr;)
      if (!before[j].in_doubt) below = &before[j];
    for (std::size_t j = i + 1; j < before.size() && above == nullptr; ++j)
      if (!before[j].in_doubt) above = &before[j];
    if ((below == nullptr && above == nullptr) || (below != nullptr && !is_far_ahead(*below)) ||
        (above != nullptr && !is_far_ahead(*above)))
      continue;
    const Candidate* best = best_of(before[i], below, above);
    if (best == nullptr) continue;
    Decision& decision = decisions[i];
    decision.runner_up = decision.chosen;
    decision.chosen = best->plan;
    decision.to_runner_up = decision.to_vendor = {.ratio = best->to_vendor};
    decision.why = "few samples, but far ahead as at the sizes around";
    decision.in_doubt = false;
  }
}

}  // namespace attune::tuner
