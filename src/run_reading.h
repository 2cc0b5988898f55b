#pragma once
/// A run folder as the commands that only read one see it.
#include <string>
#include <vector>

#include "core/hardware.h"
#include "dispatch/json.h"
#include "dispatch/table.h"
#include "tuner/record.h"

namespace attune::driver {

struct ReadRun {
  std::string path{};
  Json manifest{};
  Hardware hardware{};
  Software software{};
  std::vector<tuner::Record> records{};
  std::string journal{};                ///< The journal's text: what a table names by its hash.
  std::vector<std::string> warnings{};  ///< Damaged lines; one line for people.
};

/// Reads manifest and journal. Throws Error(usage) if the folder is no run.
[[nodiscard]] ReadRun read_run(const std::string& path);

/// Was the run made by `attune import`, from numbers that others measured?
[[nodiscard]] bool is_imported(const ReadRun& run);

}  // namespace attune::driver
