#include "tuner/build_table.h"

#include <algorithm>

#include "core/error.h"

namespace attune::tuner {
namespace {

const KeyedRules* rules_of(const Table* table, const TableKey& key) {
  if (table == nullptr) return nullptr;
  const auto found = std::ranges::find(table->tables, key, &KeyedRules::key);
  return found == table->tables.end() ? nullptr : &*found;
}

/// Variants that this build cannot name: their cells were left out.
void note_unknown(const KeyCells& cells, const FactsOf& facts, TunedKey& tuned) {
  std::set<std::string> unknown;
  for (const SizeCells& size : cells.sizes)
    for (const Cell& cell : size.cells)
      if (!facts(cell.plan)) unknown.insert(cell.plan.variant);
  for (const std::string& variant : unknown) tuned.notes.push_back(variant + " is out: this build does not know it");
}

TunedKey tune_key(const KeyCells& cells, const FactsOf& facts, const DecisionOptions& options,
                  const KeyedRules* previous) {
  TunedKey tuned{.key = cells.key};
  const Excluded excluded(cells);
  tuned.notes = excluded.reasons();
  note_unknown(cells, facts, tuned);
  std::vector<Bytes> undecided;
  for (const SizeCells& size : cells.sizes) {
    if (auto decision = decide(size, excluded, facts, options))
      tuned.decisions.push_back(std::move(*decision));
    else
      undecided.push_back(size.problem.bytes());
  }
  settle_by_neighbours(tuned.decisions);
  for (const Bytes bytes : undecided)
    tuned.notes.push_back(
        std::to_string(bytes) + " bytes: no eligible plan, no time of the vendor, or nothing to compare it with; " +
        (tuned.decisions.empty() ? "nothing is decided" : "what holds at the sizes around holds here"));
  if (!tuned.decisions.empty()) tuned.rules = compact(tuned.decisions, previous, options);
  return tuned;
}

}  // namespace

std::vector<TunedKey> tune(std::span<const Record> records, const FactsOf& facts, const DecisionOptions& options,
                           const Table* previous) {
  std::vector<TunedKey> tuned;
  bool any = false;
  for (const KeyCells& cells : gather(records, options.numerics, options.filter)) {
    tuned.push_back(tune_key(cells, facts, options, rules_of(previous, cells.key)));
    any = any || !tuned.back().rules.empty();
  }
  if (!any)
    throw Error(Status::usage, "no record of these runs can be used for a table",
                "sweep with at least the vendor and one variant, in mode " + std::string(name_of(options.filter.mode)));
  return tuned;
}

Table table_of(const std::vector<TunedKey>& tuned, Hardware hardware, Software software, Source source) {
  Table table{std::move(hardware), std::move(software), std::move(source), {}};
  for (const TunedKey& key : tuned) {
    if (key.rules.empty()) continue;
    KeyedRules entry{key.key, {}};
    for (const RuleSpan& span : key.rules) entry.rules.push_back(span.rule);
    table.tables.push_back(std::move(entry));
  }
  return table;
}

}  // namespace attune::tuner
