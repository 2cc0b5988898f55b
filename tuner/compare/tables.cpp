/// Table against table: where they choose differently, and what that means in time as far as the tables tell.
#include <algorithm>
#include <set>

#include "tuner/compare/compare.h"

namespace attune::tuner {
namespace {

const KeyedRules* find(const Table& table, const TableKey& key) {
  const auto found = std::ranges::find(table.tables, key, &KeyedRules::key);
  return found == table.tables.end() ? nullptr : &*found;
}

/// The ratio at one size that both rules were chosen by, or through the vendor's time in each run.
void add_times(RuleChange& change) {
  const Rule& before = *change.old_rule;
  const Rule& after = *change.new_rule;
  if (before.time_us <= 0 || after.time_us <= 0) return;
  if (before.at_bytes > 0 && before.at_bytes == after.at_bytes) {
    change.ratio = after.time_us / before.time_us;
    if (before.ci_us[0] > 0 && after.ci_us[0] > 0)
      change.ci = Interval{after.ci_us[0] / before.ci_us[1], after.ci_us[1] / before.ci_us[0]};
  } else if (before.vendor_us > 0 && after.vendor_us > 0) {
    change.ratio = (after.time_us / after.vendor_us) / (before.time_us / before.vendor_us);
    change.via_vendor = true;
  }
}

std::vector<RuleChange> changes_of(const KeyedRules& before, const KeyedRules& after) {
  std::set<Bytes> starts;
  for (const KeyedRules* side : {&before, &after})
    for (const Rule& rule : side->rules) starts.insert(rule.min_bytes);
  std::vector<RuleChange> changes;
  bool open = false;
  for (const Bytes from : starts) {
    if (open) changes.back().to = from;
    open = false;
    const Rule& old_rule = before.rule_at(from);
    const Rule& new_rule = after.rule_at(from);
    if (old_rule.plan == new_rule.plan) continue;
    open = true;
    if (!changes.empty() && changes.back().to == from && changes.back().old_rule->plan == old_rule.plan &&
        changes.back().new_rule->plan == new_rule.plan) {
      changes.back().to.reset();
      continue;
    }
    RuleChange change{.key = before.key, .from = from, .to = {}, .old_rule = old_rule, .new_rule = new_rule};
    add_times(change);
    changes.push_back(std::move(change));
  }
  return changes;
}

/// All rules of a key that only one table has.
void add_one_sided(std::vector<RuleChange>& changes, const KeyedRules& rules, bool is_new) {
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    RuleChange change{.key = rules.key, .from = rules.rules[i].min_bytes};
    if (i + 1 < rules.rules.size()) change.to = rules.rules[i + 1].min_bytes;
    (is_new ? change.new_rule : change.old_rule) = rules.rules[i];
    changes.push_back(std::move(change));
  }
}

}  // namespace

std::vector<RuleChange> compare_tables(const Table& old_table, const Table& new_table) {
  std::vector<RuleChange> changes;
  for (const KeyedRules& before : old_table.tables) {
    const KeyedRules* after = find(new_table, before.key);
    if (after == nullptr) {
      add_one_sided(changes, before, false);
      continue;
    }
    auto found = changes_of(before, *after);
    changes.insert(changes.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  for (const KeyedRules& after : new_table.tables)
    if (find(old_table, after.key) == nullptr) add_one_sided(changes, after, true);
  return changes;
}

}  // namespace attune::tuner
