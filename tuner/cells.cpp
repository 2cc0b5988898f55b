#include "tuner/cells.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace attune::tuner {
namespace {

constexpr double noisy_share = 0.2;            ///< Of the calls of a cell that were rejected: above, it is noisy.
constexpr std::size_t launches_for_pairs = 8;  ///< The fewest that have an interval at 99 %.

/// The last block of each launch decides whether the cell converged.
struct LastBlock {
  int block = -1;
  Stage stage = Stage::search;
  bool converged = true;
};

struct Growing {
  Cell cell;
  std::map<int, LastBlock> last;  ///< By launch.
  int accepted = 0;               ///< Over all stages, as the cell's `rejected`.
};

struct GrowingSize {
  std::vector<Problem> problems;
  std::map<Plan, Growing> plans;

  int number_of(const Problem& problem) {
    const auto index = std::ranges::find(problems, problem) - problems.begin();
    if (index == static_cast<std::ptrdiff_t>(problems.size())) problems.push_back(problem);
    return static_cast<int>(index);
  }
};

void add_status(Cell& cell, const Record& record) {
  if (record.status == CellStatus::ok) return;
  // Wrong results outrank all other faults, else the first one stays.
  if (cell.status == CellStatus::ok || (record.status == CellStatus::wrong && cell.status != CellStatus::wrong)) {
    cell.status = record.status;
    cell.reason = record.reason;
  }
}

void add_record(Growing& growing, const Record& record, int launch, int problem) {
  Cell& cell = growing.cell;
  add_status(cell, record);
  cell.rejected += record.rejected;
  cell.noisy = cell.noisy || (record.noisy && record.rejected == 0);  // who says so without counting is believed
  growing.accepted += static_cast<int>(record.samples_us.size());
  cell.oversubscribed = cell.oversubscribed || record.oversubscribed;
  if (record.samples_us.empty()) return;
  if (record.stage == Stage::confirm && !cell.fresh) {
    cell.fresh = true;
    cell.samples_us.clear();
  }
  if (record.stage == Stage::confirm || !cell.fresh)
    cell.samples_us.insert(cell.samples_us.end(), record.samples_us.begin(), record.samples_us.end());
  cell.blocks.push_back({launch, problem, record.block, record.stage, median(record.samples_us)});
  LastBlock& seen = growing.last[launch];
  if (record.stage > seen.stage || (record.stage == seen.stage && record.block >= seen.block))
    seen = {record.block, record.stage, record.converged};
}

SizeCells finished(GrowingSize& size) {
  SizeCells cells{size.problems.front(), {}};
  for (auto& [plan, growing] : size.plans) {
    growing.cell.launches = static_cast<int>(growing.last.size());
    const double timed = growing.cell.rejected + growing.accepted;
    growing.cell.noisy = growing.cell.noisy || growing.cell.rejected > noisy_share * timed;
    for (const auto& [launch, last] : growing.last) growing.cell.converged = growing.cell.converged && last.converged;
    cells.cells.push_back(std::move(growing.cell));
  }
  return cells;
}

CacheState cache_of(std::span<const Record> records, const RecordFilter& filter) {
  if (filter.cache) return *filter.cache;
  CacheState least = CacheState::hot;
  for (const Record& record : records)
    if (record.mode == filter.mode) least = std::min(least, record.cache);
  return least;
}

/// The blocks that count: fresh ones if the cell has any.
std::vector<BlockTime> counted(const Cell& cell, bool fresh_only) {
  std::vector<BlockTime> blocks;
  std::ranges::copy_if(cell.blocks, std::back_inserter(blocks),
                       [&](const BlockTime& block) { return !fresh_only || block.stage == Stage::confirm; });
  return blocks;
}

std::map<int, std::vector<double>> by_launch(const std::vector<BlockTime>& blocks) {
  std::map<int, std::vector<double>> times;
  for (const BlockTime& block : blocks) times[block.launch].push_back(block.time_us);
  return times;
}

/// ln(a/b) for every round that both took part in, by launch.
std::map<int, std::vector<double>> paired(const Cell& a, const Cell& b) {
  const bool fresh_only = a.fresh && b.fresh;
  using Round = std::tuple<int, int, int, Stage>;
  std::map<Round, double> other;
  for (const BlockTime& block : counted(b, fresh_only))
    other[{block.launch, block.problem, block.block, block.stage}] = block.time_us;
  std::map<int, std::vector<double>> ratios;
  for (const BlockTime& block : counted(a, fresh_only)) {
    const auto found = other.find({block.launch, block.problem, block.block, block.stage});
    if (found != other.end() && block.time_us > 0 && found->second > 0)
      ratios[block.launch].push_back(std::log(block.time_us / found->second));
  }
  return ratios;
}

Comparison unpaired(const Cell& a, const Cell& b, double confidence) {
  const CellTime left = time_of(a, confidence);
  const CellTime right = time_of(b, confidence);
  Comparison comparison{.ratio = left.median_us / right.median_us};
  if (left.ci_us && right.ci_us && right.ci_us->low > 0)
    comparison.ci = Interval{left.ci_us->low / right.ci_us->high, left.ci_us->high / right.ci_us->low};
  return comparison;
}

}  // namespace

const Cell* SizeCells::find(const Plan& plan) const {
  const auto found = std::ranges::find(cells, plan, &Cell::plan);
  return found == cells.end() ? nullptr : &*found;
}

std::vector<KeyCells> gather(std::span<const Record> records, Numerics numerics, const RecordFilter& filter) {
  const CacheState cache = cache_of(records, filter);
  std::map<std::string, int> launches;
  std::map<TableKey, std::map<Bytes, GrowingSize>> keys;
  for (const Record& record : records) {
    if (record.mode != filter.mode || record.cache != cache) continue;
    const int launch = launches.emplace(record.launch, static_cast<int>(launches.size())).first->second;
    GrowingSize& size = keys[key_of(record.problem, numerics)][record.problem.bytes()];
    const int problem = size.number_of(record.problem);
    Growing& growing = size.plans[record.plan];
    growing.cell.plan = record.plan;
    add_record(growing, record, launch, problem);
  }
  std::vector<KeyCells> gathered;
  for (auto& [key, sizes] : keys) {
    gathered.push_back({key, {}});
    for (auto& [bytes, size] : sizes) gathered.back().sizes.push_back(finished(size));
  }
  return gathered;
}

CellTime time_of(const Cell& cell, double confidence) {
  const MedianEstimate pooled = estimate_median(cell.samples_us, confidence);
  CellTime time{pooled.median, pooled.interval, pooled.samples, 1};
  const auto launches = by_launch(counted(cell, cell.fresh));
  time.launches = static_cast<int>(launches.size());
  if (launches.size() < 2) return time;
  std::vector<double> medians;
  for (const auto& [launch, times] : launches) medians.push_back(median(times));
  time.median_us = median(medians);
  if (auto interval = median_interval(medians, confidence)) {
    time.ci_us = interval;
  } else if (time.ci_us) {
    const auto [low, high] = std::ranges::minmax(medians);
    time.ci_us = Interval{std::min(time.ci_us->low, low), std::max(time.ci_us->high, high)};
  }
  return time;
}

Comparison compare(const Cell& a, const Cell& b, double confidence) {
  const auto launches = paired(a, b);
  if (launches.empty()) return unpaired(a, b, confidence);
  std::vector<double> all;
  std::vector<double> shifts;
  for (const auto& [launch, ratios] : launches) {
    all.insert(all.end(), ratios.begin(), ratios.end());
    shifts.push_back(hodges_lehmann(ratios, confidence).shift);
  }
  const bool by_launches = shifts.size() >= launches_for_pairs;
  const ShiftEstimate estimate = hodges_lehmann(by_launches ? shifts : all, confidence);
  Comparison comparison{.ratio = std::exp(estimate.shift),
                        .pairs = static_cast<int>(by_launches ? shifts.size() : all.size())};
  if (!estimate.interval) {  // too few rounds: let the single samples speak
    comparison.ci = unpaired(a, b, confidence).ci;
    return comparison;
  }
  Interval interval = *estimate.interval;
  if (!by_launches && shifts.size() > 1) {
    const auto [low, high] = std::ranges::minmax(shifts);
    interval = {std::min(interval.low, low), std::max(interval.high, high)};
  }
  comparison.ci = Interval{std::exp(interval.low), std::exp(interval.high)};
  return comparison;
}

}  // namespace attune::tuner
