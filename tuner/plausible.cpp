/// What cost cards alone rule out.
#include <algorithm>

#include "tuner/search.h"
#include "variants/registry.h"

namespace attune::tuner {

std::optional<Cost> cost_of_variant(const Plan& plan, int ranks, Bytes bytes) {
  if (plan.variant.starts_with("vendor")) return std::nullopt;
  const VariantInfo* info = find_variant(plan.variant);
  if (info == nullptr) return std::nullopt;
  return info->cost(ranks, bytes);
}

std::vector<Plan> plausible(const Problem& problem, std::vector<Plan> plans, const CostOf& cost) {
  constexpr double far = 3;
  struct Card {
    double bytes;
    double steps;
  };
  const auto card_of = [&](const Plan& plan) -> std::optional<Card> {
    const auto known = cost(plan, problem.ranks, problem.bytes());
    if (!known) return std::nullopt;
    return Card{static_cast<double>(known->peer_reads + known->peer_writes),
                static_cast<double>(known->rounds + known->barriers)};
  };
  std::vector<Card> cards;
  for (const Plan& plan : plans)
    if (const auto card = card_of(plan)) cards.push_back(*card);
  std::erase_if(plans, [&](const Plan& plan) {
    const auto mine = card_of(plan);
    return mine && std::ranges::any_of(cards, [&](const Card& other) {
             return mine->bytes >= far * other.bytes && mine->steps >= far * other.steps && mine->steps > 0 &&
                    mine->bytes > 0;
           });
  });
  return plans;
}

}  // namespace attune::tuner
