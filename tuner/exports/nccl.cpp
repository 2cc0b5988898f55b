/// NCCL's example tuner plugin (nccl_tuner.conf) and the input of its optimize_config.py. That plugin runs every call
/// that no rule matches on one channel, and rules of -1 channels too: channels are always written out.
#include <algorithm>
#include <cstdio>
#include <limits>

#include "tuner/exports/choices.h"

namespace attune::tuner::exports {
namespace {

constexpr std::string_view uncovered =
    "calls that no line of this file matches run on ONE channel with NVIDIA's example plugin; attune's own plugin "
    "(libnccl-tuner-attune.so) leaves them to NCCL";

std::optional<NcclChoice> with_channels(const Rule& rule) {
  const auto choice = nccl_choice(rule.plan);
  return choice && choice->channels > 0 ? choice : std::nullopt;
}

std::string names_of(const NcclChoice& choice) {
  return std::string(nccl_algorithms[static_cast<std::size_t>(choice.algorithm)]) + "," +
         std::string(nccl_protocols[static_cast<std::size_t>(choice.protocol)]) + "," + std::to_string(choice.channels);
}

std::string decimal(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

constexpr std::string_view optimize_header =
    "collective,size_bytes,algorithm,protocol,channels,nodes,ranks,pipeOps,regBuff,bandwidth_gbps,latency_us\n";

std::string optimize_row(const NcclChoice& choice, const TableKey& key, Bytes bytes, double time_us) {
  return "allreduce," + std::to_string(bytes) + "," + names_of(choice) + ",1," + std::to_string(key.ranks) + ",-1," +
         (key.memory == Memory::registered ? "1," : "0,") + decimal(static_cast<double>(bytes) / time_us / 1e3, 4) +
         "," + decimal(time_us, 4) + "\n";
}

}  // namespace

Exported to_nccl_csv(const Table& table, const ExportOptions& options) {
  Exported exported;
  bool gaps = false;
  exported.text = "# nccl_tuner.conf, written by attune export: " + origin_of(table) +
                  "\n# collective,min,max,algorithm,protocol,channels,nodes,ranks,pipeline operations,registered\n";
  for (const KeyedRules* entry : choose_tables(table, options, true, exported.notes)) {
    const auto ranges = ranges_of<NcclChoice>(*entry, with_channels, "the plugin's default", exported.notes);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      gaps = gaps || !ranges[i].choice;
      if (!ranges[i].choice) continue;
      const std::string end = i + 1 < ranges.size() ? std::to_string(ranges[i + 1].from - 1)
                                                    : std::to_string(std::numeric_limits<std::uint64_t>::max());
      exported.text += "allreduce," + std::to_string(ranges[i].from) + "," + end + "," + names_of(*ranges[i].choice) +
                       ",1," + std::to_string(entry->key.ranks) + ",-1," +
                       (entry->key.memory == Memory::registered ? "1" : "0") + "\n";
    }
  }
  if (gaps) exported.notes.emplace_back(uncovered);
  return exported;
}

Exported to_nccl_optimize_csv(const Table& table, const ExportOptions& options) {
  Exported exported{std::string(optimize_header), {}};
  for (const KeyedRules* entry : choose_tables(table, options, true, exported.notes)) {
    (void)ranges_of<NcclChoice>(*entry, with_channels, "nothing", exported.notes);
    for (const Rule& rule : entry->rules)
      if (const auto choice = with_channels(rule); choice && rule.at_bytes > 0 && rule.time_us > 0)
        exported.text += optimize_row(*choice, entry->key, rule.at_bytes, rule.time_us);
  }
  return exported;
}

}  // namespace attune::tuner::exports

namespace attune::tuner {

Exported export_measurements(const std::vector<Record>& records, const RecordFilter& filter) {
  Exported exported{std::string(exports::optimize_header), {}};
  constexpr double confidence = 0.99;
  std::size_t left_out = 0;
  for (const KeyCells& key : gather(records, Numerics::rank_order, filter)) {
    if (key.key.collective != Collective::allreduce) continue;
    for (const SizeCells& size : key.sizes)
      for (const Cell& cell : size.cells) {
        const auto choice = exports::with_channels(Rule{.plan = cell.plan});
        if (choice && cell.usable() && size.problem.bytes() > 0)
          exported.text +=
              exports::optimize_row(*choice, key.key, size.problem.bytes(), time_of(cell, confidence).median_us);
        else
          ++left_out;
      }
  }
  if (left_out > 0)
    exported.notes.push_back(std::to_string(left_out) +
                             " cells are left out: not NCCL's own algorithms with explicit channels, or not timed");
  return exported;
}

}  // namespace attune::tuner
