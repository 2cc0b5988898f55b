#pragma once
/// Where a dispatch table comes from when nobody hands one over: an option, ATTUNE_TABLE, or the table folders.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/hardware.h"
#include "dispatch/table.h"

namespace attune {

/// Reads one environment variable; empty if it is not set. Tests pass their own.
using Environment = std::function<std::string(const char* name)>;
[[nodiscard]] std::string process_environment(const char* name);

/// The table folders, first one first: every folder of ATTUNE_TABLE_PATH (colon-separated), the user's
/// ($XDG_CONFIG_HOME/attune, else $HOME/.config/attune), and `<prefix>/share/attune/tables` if a prefix is given.
[[nodiscard]] std::vector<std::string> table_folders(const Environment& environment, const std::string& prefix);

/// Which file, and who said so: "option", "ATTUNE_TABLE" or "table folder".
struct TableFile {
  std::string path;
  std::string found_by;
};

/// The file to load: the option if it is not empty, else ATTUNE_TABLE, else `<fingerprint>.json` in the first folder
/// that holds one. The word `none` (as option or in ATTUNE_TABLE) asks for the built-in default. Nothing: no table.
/// A file that was named and does not exist is an Error(usage); whether it can be read is load_table's business.
[[nodiscard]] std::optional<TableFile> find_table(const std::string& option, const Hardware& here,
                                                  const Environment& environment, const std::string& prefix);

/// A loaded table, and what its user should be told.
struct FoundTable {
  TableFile file;  ///< Empty path: no table, the built-in default answers all.
  Table table;
  std::string warning;  ///< Hardware that does not match, in one line that names both; empty if all is well.
};

/// find_table, load_table and the check of the hardware, which is an Error(usage) instead of a warning if `strict`.
[[nodiscard]] FoundTable find_and_load_table(const std::string& option, const Hardware& here, const TableLimits& limits,
                                             bool strict, const Environment& environment, const std::string& prefix);

}  // namespace attune
