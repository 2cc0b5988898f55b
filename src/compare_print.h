#pragma once
/// What attune compare found, for people and as JSON.
#include <string>
#include <vector>

#include "dispatch/json.h"
#include "src/compare_sides.h"
#include "tuner/compare/compare.h"

namespace attune::driver {

/// "64K", or "512x7168" for fused kernels.
[[nodiscard]] std::string shape_of(const Problem& problem);

void print_cells(const std::vector<tuner::ComparedCell>& cells);
/// "12 faster, 3 slower, 40 equal, …".
void print_counts(const tuner::ComparedRuns& compared);
void print_changes(const std::vector<tuner::RuleChange>& changes);

[[nodiscard]] Json cells_json(const std::vector<tuner::ComparedCell>& cells);
[[nodiscard]] Json changes_json(const std::vector<tuner::RuleChange>& changes);

}  // namespace attune::driver
