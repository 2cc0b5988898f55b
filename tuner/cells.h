#pragma once
/// Journal records gathered into cells (one problem under one plan), and cells compared.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dispatch/table.h"
#include "tuner/record.h"
#include "tuner/statistics.h"

namespace attune::tuner {

/// One block of calls, reduced to its median.
struct BlockTime {
  int launch = 0;   ///< Number of the launch in order of first appearance.
  int problem = 0;  ///< Number of the problem among those of this size (shapes of equal bytes share a cell).
  int block = 0;
  Stage stage = Stage::search;
  double time_us = 0;
};

/// All that was recorded of one problem under one plan, over all launches.
struct Cell {
  Plan plan{};
  CellStatus status = CellStatus::ok;  ///< The worst of all records.
  std::string reason{};                ///< Of the first record that was not ok.
  std::vector<BlockTime> blocks{};     ///< In journal order.
  std::vector<double> samples_us{};    ///< Those of fresh blocks if there are any, else all.
  bool fresh = false;                  ///< Measured again after the search (Stage::confirm).
  int launches = 0;
  int rejected = 0;
  bool converged = true;  ///< The last block of every launch said so.
  bool noisy = false;     ///< More than a fifth of the calls were rejected.
  bool oversubscribed = false;

  [[nodiscard]] bool usable() const { return status == CellStatus::ok && !samples_us.empty(); }
};

/// The cells of one size.
struct SizeCells {
  Problem problem{};          ///< The first one of this size.
  std::vector<Cell> cells{};  ///< In order of plans.

  [[nodiscard]] const Cell* find(const Plan& plan) const;
};

/// The sizes of one table, ascending in bytes.
struct KeyCells {
  TableKey key{};
  std::vector<SizeCells> sizes{};
};

/// Which of a journal's records to use: one mode and one cache state, never a mixture.
struct RecordFilter {
  Mode mode = Mode::latency;
  std::optional<CacheState> cache{};  ///< Nothing: rewritten if the journal has it, else rotating, else hot.
};

/// Gathers records (of several journals, in any order of launches) by key and size. Keys carry `numerics`.
[[nodiscard]] std::vector<KeyCells> gather(std::span<const Record> records, Numerics numerics,
                                           const RecordFilter& filter);

/// A cell's time. With several launches the launch is the unit of replication: the median of launch medians, and an
/// interval that covers what each launch says.
struct CellTime {
  double median_us = 0;
  std::optional<Interval> ci_us{};
  int samples = 0;
  int launches = 0;
};
[[nodiscard]] CellTime time_of(const Cell& cell, double confidence);

/// How many times as long `a` takes as `b`, from pairs of blocks that were measured interleaved; from fresh blocks
/// alone where both cells have them. With 8 launches or more a launch is one pair; with fewer, the interval of the
/// pooled blocks is stretched over what the launches say one by one. Cells that share no round are compared by their
/// own intervals.
struct Comparison {
  double ratio = 1;
  std::optional<Interval> ci{};  ///< Nothing: too few pairs to say.
  int pairs = 0;

  [[nodiscard]] bool surely_less() const { return ci && ci->high < 1; }
  [[nodiscard]] bool surely_more() const { return ci && ci->low > 1; }
};
[[nodiscard]] Comparison compare(const Cell& a, const Cell& b, double confidence);

}  // namespace attune::tuner
