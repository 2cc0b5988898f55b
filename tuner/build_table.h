#pragma once
/// From the records of one or more runs to a dispatch table, with the evidence for each rule.
#include <span>
#include <string>
#include <vector>

#include "tuner/decision.h"
#include "tuner/rules.h"

namespace attune::tuner {

/// One table and how it came about.
struct TunedKey {
  TableKey key{};
  std::vector<Decision> decisions{};  ///< By size; sizes at which no plan was eligible are missing.
  std::vector<RuleSpan> rules{};
  std::vector<std::string> notes{};  ///< Plans that were left out, and why.
};

/// Decides every size of every key in `records` and writes the fewest rules. Records of several launches and runs are
/// merged. `previous` may be null; its tables are matched by key. Throws Error(usage) if no record can be used.
[[nodiscard]] std::vector<TunedKey> tune(std::span<const Record> records, const FactsOf& facts,
                                         const DecisionOptions& options, const Table* previous);

/// The table of the rules, with the run's hardware, software and source as given.
[[nodiscard]] Table table_of(const std::vector<TunedKey>& tuned, Hardware hardware, Software software, Source source);

/// For people: each rule with its range, winner, runner-up, ratio with interval, gain over the vendor, samples and
/// launches, then what was left out and why. Lines end in line feeds.
[[nodiscard]] std::string explain(const TunedKey& tuned, double confidence);

}  // namespace attune::tuner
