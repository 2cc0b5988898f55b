#include "tuner/nccl_plugin/rules.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "core/error.h"

namespace attune::nccl_plugin {
namespace {

namespace fs = std::filesystem;

/// Files of a folder in order of their names: every rank must find the same one.
std::set<std::string> files_of(const std::string& folder) {
  std::set<std::string> files;
  std::error_code fault;
  for (fs::directory_iterator entry(folder, fault), end; !fault && entry != end; entry.increment(fault))
    files.insert(entry->path().string());
  return files;
}

std::optional<std::pair<std::string, Table>> table_in_folders(const Environment& environment, const std::string& prefix,
                                                              const std::string& gpu, std::vector<std::string>& notes) {
  if (gpu.empty()) return std::nullopt;
  for (const std::string& folder : table_folders(environment, prefix))
    for (const std::string& path : files_of(folder)) {
      if (!path.ends_with(".json")) continue;
      try {
        Table table = load_table(path, {});
        if (table.hardware.device == DeviceKind::cuda && table.hardware.name == gpu)
          return std::pair(path, std::move(table));
      } catch (const Error& error) {
        notes.push_back("passed over: " + std::string(error.what()));
      }
    }
  return std::nullopt;
}

std::optional<std::pair<std::string, Table>> find(const Environment& environment, const std::string& prefix,
                                                  const std::string& gpu, std::vector<std::string>& notes) {
  const std::string named = environment("ATTUNE_TABLE");
  if (named == "none") return std::nullopt;
  if (!named.empty()) return std::pair(named, load_table(named, {}));
  return table_in_folders(environment, prefix, gpu, notes);
}

}  // namespace

std::optional<NcclChoice> Rules::at(std::size_t bytes, bool registered) const {
  const auto& list = ranges[registered ? 1 : 0];
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<Bytes>::max());
  const auto size = static_cast<Bytes>(std::min(bytes, most));
  const auto next = std::ranges::upper_bound(list, size, {}, &tuner::exports::Range<NcclChoice>::from);
  return next == list.begin() ? std::nullopt : std::prev(next)->choice;
}

Rules rules_for(std::size_t ranks, std::size_t nodes, const Environment& environment, const std::string& prefix,
                const std::string& gpu) {
  Rules rules;
  auto found = find(environment, prefix, gpu, rules.notes);
  if (!found) return rules;
  auto& [path, table] = *found;
  rules.path = path;
  std::erase_if(table.tables, [&](const KeyedRules& entry) {
    return nodes != 1 || entry.key.collective != Collective::allreduce || entry.key.epilogue != EpilogueKind::none ||
           ranks < 2 || std::cmp_not_equal(entry.key.ranks, ranks);
  });
  if (table.tables.empty()) return rules;
  std::array<bool, 2> has{};
  for (const KeyedRules* entry : tuner::exports::choose_tables(table, {}, true, rules.notes)) {
    const std::size_t kind = entry->key.memory == Memory::registered ? 1 : 0;
    has[kind] = true;
    rules.ranges[kind] = tuner::exports::ranges_of<NcclChoice>(
        *entry, [](const Rule& rule) { return tuner::exports::nccl_choice(rule.plan); }, "NCCL", rules.notes);
  }
  for (const std::size_t kind : {0U, 1U})
    if (!has[kind]) rules.ranges[kind] = rules.ranges[1 - kind];
  return rules;
}

std::string gpu_model(const std::string& folder) {
  for (const std::string& gpu : files_of(folder)) {
    std::ifstream file(gpu + "/information");
    for (std::string line; std::getline(file, line);) {
      constexpr std::string_view key = "Model:";
      if (!line.starts_with(key)) continue;
      const std::size_t from = line.find_first_not_of(" \t", key.size());
      if (from != std::string::npos) return line.substr(from, line.find_last_not_of(" \t\r") + 1 - from);
    }
  }
  return {};
}

}  // namespace attune::nccl_plugin
