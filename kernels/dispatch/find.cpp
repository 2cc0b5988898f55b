#include "dispatch/find.h"

#include <cstdlib>
#include <filesystem>

#include "core/error.h"

namespace attune {
namespace {

constexpr const char* no_table = "none";

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

TableFile named(const std::string& path, const std::string& found_by) {
  if (!exists(path))
    throw Error(Status::usage, path + ": no such dispatch table (named by " + found_by + ")",
                "name an existing file, or 'none' for the built-in default");
  return {path, found_by};
}

}  // namespace

std::string process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> table_folders(const Environment& environment, const std::string& prefix) {
  std::vector<std::string> folders;
  const std::string path = environment("ATTUNE_TABLE_PATH");
  for (std::size_t first = 0; first < path.size();) {
    const std::size_t colon = std::min(path.find(':', first), path.size());
    if (colon > first) folders.push_back(path.substr(first, colon - first));
    first = colon + 1;
  }
  if (const std::string config = environment("XDG_CONFIG_HOME"); !config.empty())
    folders.push_back(config + "/attune");
  else if (const std::string home = environment("HOME"); !home.empty())
    folders.push_back(home + "/.config/attune");
  if (!prefix.empty()) folders.push_back(prefix + "/share/attune/tables");
  return folders;
}

std::optional<TableFile> find_table(const std::string& option, const Hardware& here, const Environment& environment,
                                    const std::string& prefix) {
  if (option == no_table) return std::nullopt;
  if (!option.empty()) return named(option, "option");
  const std::string variable = environment("ATTUNE_TABLE");
  if (variable == no_table) return std::nullopt;
  if (!variable.empty()) return named(variable, "ATTUNE_TABLE");
  for (const std::string& folder : table_folders(environment, prefix)) {
    const std::string path = folder + "/" + here.fingerprint + ".json";
    if (exists(path)) return TableFile{path, "table folder"};
  }
  return std::nullopt;
}

FoundTable find_and_load_table(const std::string& option, const Hardware& here, const TableLimits& limits, bool strict,
                               const Environment& environment, const std::string& prefix) {
  FoundTable found;
  const auto file = find_table(option, here, environment, prefix);
  if (!file) return found;
  found.file = *file;
  found.table = load_table(file->path, limits);
  found.warning = hardware_mismatch(found.table.hardware, here);
  if (!found.warning.empty()) found.warning = file->path + ": " + found.warning;
  if (strict && !found.warning.empty())
    throw Error(Status::usage, found.warning, "tune on this hardware, or drop 'strict'");
  return found;
}

}  // namespace attune
