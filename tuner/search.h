#pragma once
/// The tuning loop: which sizes and plans to measure next, until the tables can be decided or the budget is used.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/traits.h"
#include "tuner/decision.h"
#include "tuner/race.h"
#include "tuner/session.h"

namespace attune::tuner {

/// Problems that differ in size alone: one table of the result.
struct Task {
  std::vector<Problem> problems{};  ///< Ascending in bytes.
  /// The plans that can run on a problem, the vendor among them; also asked for sizes that the search adds.
  std::function<std::vector<Plan>(const Problem&)> plans{};
};

enum class SearchKind : std::uint8_t {
  racing,     ///< Eliminate, seed neighbours, refine crossovers, measure winners afresh.
  exhaustive  ///< Every plan at every size until its own interval is narrow.
};

struct SearchOptions {
  SearchKind kind = SearchKind::racing;
  RaceOptions race{};                                  ///< For racing.
  RaceOptions everything = RaceOptions::everything();  ///< For exhaustive.
  DecisionOptions decision{};
  double coarse = 4;  ///< Ratio of the sizes that race with all candidates; those between race with the survivors.
  double crossover = 1.25;  ///< Crossovers are refined until the sizes on both sides are within this ratio.
  int confirm_rounds = 12;  ///< Fresh rounds of winner, runner-up and vendor; doubled while they leave it open.
  int confirm_doublings = 3;
};

/// Measures through `session`, whose records are the result: `tune` (build_table.h) makes rules of them.
///
/// Racing first covers the coarse sizes, ascending: the first rung of each, with all plans where that fits into its
/// part of the time, else with the vendor and the plans that do best at the sizes below and in tables that this session
/// has searched before (until 45 % of the budget; until 55 % with two plans at sizes that had too little; plans that
/// were left out join where 45 % leaves time). Then, until 40 %, it runs the next rung of whichever size promises the
/// largest gain for its time: the loss expected of taking the best plan so far. Sizes between join until 55 %,
/// bisections of crossovers until 70 %, and fresh measuring has the rest and what the others left. Nothing is started
/// that would end behind the budget's end; what a plan costs because it is new at a size is counted. Without a budget
/// each part ends by its own rule. Measuring ends before the budget does only when every interval is a quarter of the
/// precision asked for.
///
/// Exhaustive measures every plan until its interval is within the session's precision.
///
/// True when every race ended by its own rule and what was measured afresh converged; false when the budget cut them
/// short.
bool search(std::span<const Task> tasks, const FactsOf& facts, const SearchOptions& options, Session& session);

/// The same problem at another size: whole elements, whole rows of fused kernels; at least one.
[[nodiscard]] Problem resized(const Problem& problem, Bytes bytes);

/// Cost card of a plan at a size; nothing: unknown (the vendor).
using CostOf = std::function<std::optional<Cost>(const Plan& plan, int ranks, Bytes bytes)>;
[[nodiscard]] std::optional<Cost> cost_of_variant(const Plan& plan, int ranks, Bytes bytes);

/// Drops plans that no machine can make win: another plan moves at most a third of the bytes over the links and has at
/// most a third of the dependent steps. Plans without a card stay.
[[nodiscard]] std::vector<Plan> plausible(const Problem& problem, std::vector<Plan> plans, const CostOf& cost);

}  // namespace attune::tuner
