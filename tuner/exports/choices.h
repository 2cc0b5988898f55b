#pragma once
/// What the exporters share: which of a file's tables to use, and its rules as ranges of one software's own choices.
#include <functional>
#include <set>
#include <utility>

#include "tuner/exports/exports.h"

namespace attune::tuner::exports {

/// From `from` bytes until the next range: a choice, or nothing for the software's own default.
template <class Choice>
struct Range {
  Bytes from = 0;
  std::optional<Choice> choice{};
  bool operator==(const Range&) const = default;
};

/// The tables to export: plain allreduces, one for each number of ranks (and kind of memory if `per_memory`),
/// ascending. Of several the likeliest is taken (sum, out of place, registered, f32, …) and `notes` says so. Throws
/// Error(usage) if there is none.
[[nodiscard]] std::vector<const KeyedRules*> choose_tables(const Table& table, const ExportOptions& options,
                                                           bool per_memory, std::vector<std::string>& notes);

/// Adds "ranks 2: 3 of 5 rules (mesh, push) have no counterpart in …" unless nothing was lost.
void note_lost(const KeyedRules& rules, const std::set<std::string>& lost, std::size_t count, std::string_view software,
               std::vector<std::string>& notes);

/// The rules' plans through `choose` (nothing: this software cannot say it), equal neighbours joined.
template <class Choice>
[[nodiscard]] std::vector<Range<Choice>> ranges_of(const KeyedRules& rules,
                                                   const std::function<std::optional<Choice>(const Rule&)>& choose,
                                                   std::string_view software, std::vector<std::string>& notes) {
  std::vector<Range<Choice>> ranges;
  std::set<std::string> lost;
  std::size_t count = 0;
  for (const Rule& rule : rules.rules) {
    auto choice = choose(rule);
    if (!choice && rule.plan.variant != "vendor") {
      lost.insert(rule.plan.variant);
      ++count;
    }
    if (ranges.empty() || ranges.back().choice != choice) ranges.push_back({rule.min_bytes, std::move(choice)});
  }
  note_lost(rules, lost, count, software, notes);
  return ranges;
}

/// The words of "vendor:openmpi/segmented_ring/65536" behind the prefix, split at '/'; none for another variant.
[[nodiscard]] std::vector<std::string_view> words_behind(std::string_view variant, std::string_view prefix);
/// A decimal number above 0, or nothing.
[[nodiscard]] std::optional<Bytes> number_of(std::string_view digits);

/// "host-amd-epyc…, run quick, attune 0.1.0": what a file's comment says of its origin. One line.
[[nodiscard]] std::string origin_of(const Table& table);

Exported to_openmpi(const Table& table, const ExportOptions& options);
Exported to_openmpi_json(const Table& table, const ExportOptions& options);
Exported to_mpich(const Table& table, const ExportOptions& options);
Exported to_ucc(const Table& table, const ExportOptions& options);
Exported to_nccl_csv(const Table& table, const ExportOptions& options);
Exported to_nccl_optimize_csv(const Table& table, const ExportOptions& options);

/// NCCL's algorithm and protocol by number, and the channels. Shared with the tuner plugin.
struct NcclChoice {
  int algorithm = 0;
  int protocol = 0;
  int channels = 0;  ///< 0: NCCL's own number.
  bool operator==(const NcclChoice&) const = default;
};
inline constexpr std::array<std::string_view, 7> nccl_algorithms{
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
inline constexpr std::array<std::string_view, 3> nccl_protocols{"ll", "ll128", "simple"};
/// `vendor:nccl/ring/ll`, with the channels behind it (`vendor:nccl/ring/ll/8`) or as the plan's blocks if above 1.
[[nodiscard]] std::optional<NcclChoice> nccl_choice(const Plan& plan);

}  // namespace attune::tuner::exports
