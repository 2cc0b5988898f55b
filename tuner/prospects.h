#pragma once
/// What other sizes, and other tables of the same launch, let expect of plans that were not measured at a size yet.
#include <vector>

#include "tuner/session.h"

namespace attune::tuner {

struct Prospect {
  Plan plan{};
  double ratio =
      1;  ///< Expected time over the best plan's: the least that a source says, so a plan is not given up early.
  double likely = 1;  ///< The same where sizes on both sides know the plan: between what the two say.
};

/// May one table's times tell of the other's? Other data, the same way through memory.
[[nodiscard]] bool related(Problem a, const Problem& b);

/// The first table of its relatives tries all plans for them: its part of a budget over another's.
constexpr double first_table_weight = 2.5;

/// The vendor first, then the most promising. Sources are the nearest sizes of the same table that know a plan (beyond
/// them its time and the best one's go on growing as before: a plan that gains goes on gaining, and one that was
/// hopeless far below comes back) and this size, or one within a factor of two, in related tables. What no source knows
/// is expected to be near the best.
[[nodiscard]] std::vector<Prospect> prospects(const Session& session, const Problem& problem,
                                              const std::vector<Plan>& plans);

}  // namespace attune::tuner
