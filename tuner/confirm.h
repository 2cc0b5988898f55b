#pragma once
/// Fresh times for what the search found: the least of many noisy numbers is too small, so none of them is written
/// down.
#include <span>
#include <vector>

#include "tuner/search.h"

namespace attune::tuner {

/// The decisions that a set of records allows, by size; all of one key.
[[nodiscard]] std::vector<Decision> decide_all(std::span<const Record> records, const FactsOf& facts,
                                               const DecisionOptions& options);

/// Measures winner, runner-up, what a tie would prefer, and the vendor afresh at every problem; then goes on where
/// their intervals leave the choice open or are wider than the precision, and with a budget until it is used up.
/// False when an interval is still wider than the precision.
bool confirm(std::span<const Problem> problems, const FactsOf& facts, const SearchOptions& options, Session& session);

}  // namespace attune::tuner
