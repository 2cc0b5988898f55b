/// UCC's tune string: ranges are half open, score `inf` forces, and what no token covers keeps UCC's own scores.
#include <algorithm>

#include "tuner/exports/choices.h"

namespace attune::tuner::exports {
namespace {
constexpr std::array<std::string_view, 5> ucc_algorithms{"knomial", "sra_knomial", "sliding_window", "dbt", "ring"};

std::optional<std::string> ucc_choice(const Rule& rule) {
  const auto words = words_behind(rule.plan.variant, "vendor:ucc/");
  if (words.size() != 1 || std::ranges::find(ucc_algorithms, words[0]) == ucc_algorithms.end()) return std::nullopt;
  return std::string(words[0]);
}
}  // namespace

Exported to_ucc(const Table& table, const ExportOptions& options) {
  Exported exported;
  const std::string memory = table.hardware.device == DeviceKind::host ? "host" : "cuda";
  std::string tokens;
  for (const KeyedRules* entry : choose_tables(table, options, false, exported.notes)) {
    const auto ranges = ranges_of<std::string>(*entry, ucc_choice, "UCC's own scores", exported.notes);
    const std::string ranks = std::to_string(entry->key.ranks);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (!ranges[i].choice) continue;
      const std::string end = i + 1 < ranges.size() ? std::to_string(ranges[i + 1].from) : "inf";
      tokens += (tokens.empty() ? "" : "#") + std::string("allreduce:") + std::to_string(ranges[i].from) + "-" + end +
                ":" + memory + ":[" + ranks + "-" + ranks + "]:inf:@" + *ranges[i].choice;
    }
  }
  exported.text = "# UCC (ucc.conf, or the environment), written by attune export: " + origin_of(table) + "\n";
  exported.text += (tokens.empty() ? "# nothing to say: UCC_TL_UCP_TUNE=" : "UCC_TL_UCP_TUNE=" + tokens) + "\n";
  return exported;
}

}  // namespace attune::tuner::exports
