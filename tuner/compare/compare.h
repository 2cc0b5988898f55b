#pragma once
/// Old against new: two runs, two variants of one run, two tables. A difference is one only if the interval of the
/// ratio leaves 1 out.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/cells.h"

namespace attune::tuner {

enum class Verdict : std::uint8_t {
  faster,  ///< The new one, beyond the noise.
  slower,
  equal,   ///< The interval holds 1.
  unsure,  ///< There is no interval: a single number on one side at least.
};

/// One problem, measured on both sides.
struct ComparedCell {
  TableKey key{};
  Problem problem{};
  Plan old_plan{}, new_plan{};
  CellTime old_time{}, new_time{};
  Comparison ratio{};   ///< New over old.
  bool paired = false;  ///< From rounds that were measured interleaved.
  Verdict verdict = Verdict::unsure;
};

/// Which plan of a size stands for a side; nothing: none. The cells are usable ones or not.
using Pick = std::function<std::vector<const Cell*>(const TableKey& key, const SizeCells& size)>;
[[nodiscard]] Pick pick_all();
/// The fastest plan of a variant; its name as in a plan.
[[nodiscard]] Pick pick_variant(std::string variant);
/// What a table chooses there; where it has no rule or the choice was not measured, the fastest of all.
[[nodiscard]] Pick pick_tuned(std::optional<Table> table);

/// Records of one side, ready to be compared: of one mode and one cache state. `loose`: a side whose source does not
/// say how memory was registered or launched; both sides are then taken as registered and eager, of which the other
/// side's own records are preferred.
struct Side {
  std::vector<Record> records{};
  RecordFilter filter{};
};
[[nodiscard]] Side loosened(Side side);

/// Cells that both sides have: of `same_plans`, or each side's pick against the other's.
/// `left_out` counts cells that only one side has.
struct ComparedRuns {
  std::vector<ComparedCell> cells{};
  std::size_t only_old = 0, only_new = 0;
};
[[nodiscard]] ComparedRuns compare_runs(const Side& old_side, const Side& new_side, const Pick& old_pick,
                                        const Pick& new_pick, bool same_plans, double confidence);

/// Two picks of one run, by paired rounds where there are any.
[[nodiscard]] ComparedRuns compare_picks(const Side& side, const Pick& old_pick, const Pick& new_pick,
                                         double confidence);

/// A range of sizes in which two tables choose differently.
struct RuleChange {
  TableKey key{};
  Bytes from = 0;
  std::optional<Bytes> to{};                   ///< Exclusive; nothing: without end.
  std::optional<Rule> old_rule{}, new_rule{};  ///< Nothing: that table has no rules for this key.
  /// New time over old time, where both rules were chosen by times at the same size, or (via_vendor) by their times
  /// relative to the vendor's in their own runs.
  std::optional<double> ratio{};
  std::optional<Interval> ci{};
  bool via_vendor = false;
  std::vector<ComparedCell> measured{};  ///< With a run's samples: both plans at its sizes in the range.
};
[[nodiscard]] std::vector<RuleChange> compare_tables(const Table& old_table, const Table& new_table);
/// Fills `measured` from a run that measured both plans.
void add_evidence(std::vector<RuleChange>& changes, const Side& side, double confidence);

}  // namespace attune::tuner

template <>
struct attune::detail::Names<attune::tuner::Verdict> {
  static constexpr const char* what = "verdict";
  static constexpr std::array<std::string_view, 4> list{"faster", "slower", "equal", "unsure"};
};
