/// What the build's own list of variants says of a plan.
#include "tuner/decision.h"
#include "variants/registry.h"

namespace attune::tuner {

std::optional<PlanFacts> facts_of_variant(const Plan& plan) {
  constexpr int chunked = 1;  // a grain of its own is one more thing to get wrong
  const VariantInfo* info = find_variant(plan.variant);
  if (info == nullptr) return std::nullopt;
  const auto position = static_cast<int>(info - variant_table.data());
  const auto families = static_cast<int>(variant_table.size());
  const int complexity = 2 * (static_cast<int>(info->traits.family) * families + position);
  return PlanFacts{info->traits.numerics, complexity + (plan.chunk_bytes > 0 ? chunked : 0)};
}

}  // namespace attune::tuner
