#pragma once
/// The dispatch table: for each kind of problem a list of rules, each of which holds from its size until the next
/// rule's. This header is the data and its form in a file; `dispatcher.h` is the look-up.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/hardware.h"
#include "core/plan.h"
#include "core/types.h"

namespace attune {

/// How sure the tuner is of a rule.
enum class Confidence : std::uint8_t {
  none,    ///< Not measured: written by hand, or a built-in default.
  low,     ///< Noisy, or the interval did not converge.
  medium,  ///< Converged, in one launch only.
  high,    ///< Converged, and seen again in other launches or in fresh samples.
};
template <>
struct detail::Names<Confidence> {
  static constexpr const char* what = "confidence";
  static constexpr std::array<std::string_view, 4> list{"none", "low", "medium", "high"};
};

/// From `min_bytes` (of one rank's input) on, this plan. Times are medians in microseconds; 0 = not measured.
struct Rule {
  Bytes min_bytes = 0;
  Plan plan{};
  double time_us = 0;
  std::array<double, 2> ci_us{0, 0};  ///< 99 % interval of the median.
  double vendor_us = 0;
  Bytes at_bytes = 0;  ///< The size at which these times were measured: the first one in the rule's range.
  Confidence confidence = Confidence::none;
  Index samples = 0;  ///< Timed calls behind time_us.
  int launches = 0;   ///< Separate launches that they come from.

  bool operator==(const Rule&) const = default;
};

/// Everything that a look-up must match, but the size.
struct TableKey {
  Collective collective = Collective::allreduce;
  DType dtype = DType::f32;
  Op op = Op::sum;
  int ranks = 2;
  Placement placement = Placement::out_of_place;
  Memory memory = Memory::registered;
  LaunchMode launch_mode = LaunchMode::eager;
  Numerics numerics = Numerics::rank_order;  ///< The loosest class that competed; see admits().
  Index cols = 0;                            ///< Fused kernels only, else 0.
  EpilogueKind epilogue = EpilogueKind::none;

  auto operator<=>(const TableKey&) const = default;
};

/// May a plan of class `plan` answer where the user allowed `allowed`? The vendor always may; otherwise the classes
/// widen: rank_order admits itself alone, per_hop admits rank_order too, in_switch admits all three.
[[nodiscard]] constexpr bool admits(Numerics allowed, Numerics plan) {
  return plan == Numerics::vendor || (allowed != Numerics::vendor && plan <= allowed);
}

[[nodiscard]] constexpr bool is_fused(Collective collective) { return collective != Collective::allreduce; }

/// The key under which a table would hold this problem.
[[nodiscard]] TableKey key_of(const Problem& problem, Numerics numerics);

/// "allreduce f32 sum ranks=2 out_of_place registered eager rank_order"
[[nodiscard]] std::string to_string(const TableKey& key);

struct KeyedRules {
  TableKey key;
  std::vector<Rule> rules;  ///< Ascending min_bytes, the first is 0.

  bool operator==(const KeyedRules&) const = default;
  /// The rule that holds at `bytes`.
  [[nodiscard]] const Rule& rule_at(Bytes bytes) const;
};

struct Software {
  std::string attune, vendor, driver;
  bool operator==(const Software&) const = default;
};
/// What a table was made from.
struct Source {
  std::string run, journal_sha256, created;
  bool operator==(const Source&) const = default;
};

struct Table {
  Hardware hardware;
  Software software;
  Source source;
  std::vector<KeyedRules> tables;

  bool operator==(const Table&) const = default;
};

/// What a file is checked against beyond its form.
struct TableLimits {
  std::span<const std::string_view> variants;  ///< Known names; `vendor` and `vendor:…` are always known. Empty: any.
  int max_blocks = 1 << 16;
  int max_threads = 1024;
  /// Empty, or why a plan's variant can never run on this device (`vendor:…` too). Null: anything may.
  std::string (*why_not)(std::string_view variant) = nullptr;
};

/// Reads a table, wholly or not at all. Throws Error(usage): "source: /json/pointer: fault; expected …" for text that
/// is no JSON or ends early, unknown keys and words, values out of range, rules that are not ascending from 0,
/// keys that stand twice, unknown variants, those of another collective or of a numerics class that the key does not
/// admit, and what is beyond the limits.
[[nodiscard]] Table parse_table(std::string_view text, std::string_view source, const TableLimits& limits);

/// parse_table of a file's text; an unreadable file is an Error(usage) too.
[[nodiscard]] Table load_table(const std::string& path, const TableLimits& limits);

/// The file's text: one rule a line, ends in a newline. parse_table(to_text(t)) == t.
[[nodiscard]] std::string to_text(const Table& table);

/// A hash of all that decides a dispatch (keys, sizes, plans; no times, no names of machines, no order of tables):
/// ranks whose hashes agree dispatch alike.
[[nodiscard]] std::uint64_t decision_hash(const Table& table);

}  // namespace attune
