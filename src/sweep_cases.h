#pragma once
/// A configuration turned into problems and candidate plans.
#include <functional>
#include <string>
#include <vector>

#include "src/config.h"

namespace attune::driver {

/// Problems that differ in size (or shape) alone: one table of the result.
struct CaseGroup {
  std::vector<Problem> problems;  ///< Ascending in bytes.
};

/// All groups for one rank count, in the order of the configuration.
[[nodiscard]] std::vector<CaseGroup> groups_of(const SweepConfig& config, int ranks);

/// Plans of the problem within each variant's own search space: blocks up to its limit, chunks only where it is
/// chunked and below the message's size. The vendor is always among them. `cores` of the node bound the default blocks.
[[nodiscard]] std::vector<Plan> plans_of(const SweepConfig& config, const Problem& problem, int cores);

/// The largest message in each kind of memory.
[[nodiscard]] Bytes largest_message(const SweepConfig& config, Memory memory);

}  // namespace attune::driver
