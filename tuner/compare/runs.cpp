#include <algorithm>
#include <map>
#include <utility>

#include "tuner/compare/compare.h"

namespace attune::tuner {
namespace {

Verdict verdict_of(const Comparison& ratio) {
  if (!ratio.ci) return Verdict::unsure;
  if (ratio.surely_less()) return Verdict::faster;
  return ratio.surely_more() ? Verdict::slower : Verdict::equal;
}

/// A cell's time; where too few samples seem independent of their predecessors for an interval, that of the medians of
/// its rounds, which lie apart.
CellTime settled_time(const Cell& cell, double confidence) {
  CellTime time = time_of(cell, confidence);
  if (time.ci_us || time.launches > 1) return time;
  std::vector<double> rounds;
  for (const BlockTime& block : cell.blocks)
    if (!cell.fresh || block.stage == Stage::confirm) rounds.push_back(block.time_us);
  time.ci_us = median_interval(rounds, confidence);
  if (time.ci_us) time.median_us = median(rounds);  // the statistic of that interval
  return time;
}

/// From two intervals that do not know of each other: the widest that they allow.
Comparison apart(const CellTime& fresh, const CellTime& before) {
  Comparison ratio{.ratio = fresh.median_us / before.median_us, .ci = {}, .pairs = 0};
  if (fresh.ci_us && before.ci_us && before.ci_us->low > 0)
    ratio.ci = Interval{fresh.ci_us->low / before.ci_us->high, fresh.ci_us->high / before.ci_us->low};
  return ratio;
}

/// Are so many pairs enough for an interval of their ratios?
bool have_interval(int pairs, double confidence) {
  constexpr int surely = 64;  // for any confidence that can be asked for
  const std::vector<double> alike(static_cast<std::size_t>(std::min(pairs, surely)), 0.0);
  return pairs > 0 && hodges_lehmann(alike, confidence).interval.has_value();
}

/// By paired rounds where they are enough; else by the medians, the ratio as well as its interval: a number never
/// stands beside an interval of another.
Comparison by_rounds(const Cell& fresh, const Cell& before, const CellTime& fresh_time, const CellTime& before_time,
                     double confidence) {
  const Comparison pairs = compare(fresh, before, confidence);
  return have_interval(pairs.pairs, confidence) ? pairs : apart(fresh_time, before_time);
}

ComparedCell compared(const TableKey& key, const Problem& problem, const Cell& old_cell, const Cell& new_cell,
                      bool paired, double confidence) {
  ComparedCell result{.key = key,
                      .problem = problem,
                      .old_plan = old_cell.plan,
                      .new_plan = new_cell.plan,
                      .old_time = settled_time(old_cell, confidence),
                      .new_time = settled_time(new_cell, confidence)};
  if (paired) result.ratio = by_rounds(new_cell, old_cell, result.new_time, result.old_time, confidence);
  result.paired = paired && result.ratio.pairs > 0;
  if (!paired) result.ratio = apart(result.new_time, result.old_time);
  result.verdict = verdict_of(result.ratio);
  return result;
}

std::vector<KeyCells> cells_of(const Side& side) { return gather(side.records, Numerics::in_switch, side.filter); }

const Cell* fastest(const SizeCells& size, const std::function<bool(const Cell&)>& fits) {
  const Cell* best = nullptr;
  double best_us = 0;
  for (const Cell& cell : size.cells) {
    if (!cell.usable() || !fits(cell)) continue;
    const double time_us = median(cell.samples_us);
    if (best == nullptr || time_us < best_us) {
      best = &cell;
      best_us = time_us;
    }
  }
  return best;
}

std::vector<const Cell*> as_list(const Cell* cell) {
  return cell == nullptr ? std::vector<const Cell*>{} : std::vector<const Cell*>{cell};
}

using SizeIndex = std::map<std::pair<TableKey, Bytes>, const SizeCells*>;
SizeIndex index_of(const std::vector<KeyCells>& keys) {
  SizeIndex index;
  for (const KeyCells& key : keys)
    for (const SizeCells& size : key.sizes) index[{key.key, size.problem.bytes()}] = &size;
  return index;
}

/// The other side's cell that `cell` is compared with.
const Cell* partner(const Cell& cell, const std::vector<const Cell*>& others, bool same_plans) {
  if (!same_plans) return others.empty() ? nullptr : others.front();
  const auto found = std::ranges::find(others, cell.plan, [](const Cell* other) { return other->plan; });
  return found == others.end() ? nullptr : *found;
}

}  // namespace

Pick pick_all() {
  return [](const TableKey& /*key*/, const SizeCells& size) {
    std::vector<const Cell*> cells;
    for (const Cell& cell : size.cells)
      if (cell.usable()) cells.push_back(&cell);
    return cells;
  };
}

Pick pick_variant(std::string variant) {
  return [variant = std::move(variant)](const TableKey& /*key*/, const SizeCells& size) {
    return as_list(fastest(size, [&](const Cell& cell) { return cell.plan.variant == variant; }));
  };
}

Pick pick_tuned(std::optional<Table> table) {
  return [table = std::move(table)](const TableKey& key, const SizeCells& size) {
    if (table)
      for (const KeyedRules& entry : table->tables) {
        TableKey same = entry.key;
        same.numerics = key.numerics;
        if (same != key) continue;
        const Cell* chosen = size.find(entry.rule_at(size.problem.bytes()).plan);
        if (chosen != nullptr && chosen->usable()) return as_list(chosen);
      }
    return as_list(fastest(size, [](const Cell&) { return true; }));
  };
}

Side loosened(Side side) {
  const auto prefer = [&side](auto&& likely) {
    if (std::ranges::any_of(side.records, likely))
      std::erase_if(side.records, [&](const Record& r) { return !likely(r); });
  };
  prefer([](const Record& record) { return record.problem.memory == Memory::registered; });
  prefer([](const Record& record) { return record.problem.launch_mode == LaunchMode::eager; });
  for (Record& record : side.records) {
    record.problem.memory = Memory::registered;
    record.problem.launch_mode = LaunchMode::eager;
  }
  return side;
}

ComparedRuns compare_runs(const Side& old_side, const Side& new_side, const Pick& old_pick, const Pick& new_pick,
                          bool same_plans, double confidence) {
  const auto old_keys = cells_of(old_side);
  const auto new_keys = cells_of(new_side);
  const SizeIndex index = index_of(new_keys);
  ComparedRuns result;
  std::size_t picked_new = 0;
  for (const KeyCells& key : new_keys)
    for (const SizeCells& size : key.sizes) picked_new += new_pick(key.key, size).size();
  for (const KeyCells& key : old_keys)
    for (const SizeCells& size : key.sizes) {
      const auto found = index.find({key.key, size.problem.bytes()});
      const auto others = found == index.end() ? std::vector<const Cell*>{} : new_pick(key.key, *found->second);
      for (const Cell* cell : old_pick(key.key, size)) {
        const Cell* other = partner(*cell, others, same_plans);
        if (other == nullptr)
          ++result.only_old;
        else
          result.cells.push_back(compared(key.key, size.problem, *cell, *other, false, confidence));
      }
    }
  result.only_new = picked_new - std::min(picked_new, result.cells.size());
  return result;
}

ComparedRuns compare_picks(const Side& side, const Pick& old_pick, const Pick& new_pick, double confidence) {
  ComparedRuns result;
  for (const KeyCells& key : cells_of(side))
    for (const SizeCells& size : key.sizes) {
      const auto before = old_pick(key.key, size);
      const auto after = new_pick(key.key, size);
      result.only_old += !before.empty() && after.empty() ? 1 : 0;
      result.only_new += before.empty() && !after.empty() ? 1 : 0;
      if (!before.empty() && !after.empty())
        result.cells.push_back(compared(key.key, size.problem, *before.front(), *after.front(), true, confidence));
    }
  return result;
}

void add_evidence(std::vector<RuleChange>& changes, const Side& side, double confidence) {
  const auto keys = cells_of(side);
  for (RuleChange& change : changes) {
    if (!change.old_rule || !change.new_rule) continue;
    TableKey wanted = change.key;
    wanted.numerics = Numerics::in_switch;
    for (const KeyCells& key : keys) {
      if (key.key != wanted) continue;
      for (const SizeCells& size : key.sizes) {
        const Bytes bytes = size.problem.bytes();
        if (bytes < change.from || (change.to && bytes >= *change.to)) continue;
        const Cell* before = size.find(change.old_rule->plan);
        const Cell* after = size.find(change.new_rule->plan);
        if (before != nullptr && after != nullptr && before->usable() && after->usable())
          change.measured.push_back(compared(change.key, size.problem, *before, *after, true, confidence));
      }
    }
  }
}

}  // namespace attune::tuner
