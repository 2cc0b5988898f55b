#pragma once
/// What attune compare may be given: run folders, tables, and logs of other programs.
#include <optional>
#include <string>
#include <vector>

#include "tuner/compare/compare.h"
#include "tuner/imports/imports.h"

namespace attune::driver {

enum class SideKind : std::uint8_t { run, log, table };

struct LoadedSide {
  std::string name{};
  SideKind kind = SideKind::run;
  std::string what{};  ///< "run", "nccl-tests text (nccl-tests 2.19.6)", "table".
  std::vector<tuner::Record> records{};
  std::optional<Table> table{};      ///< Of a run: its table.json if it has one.
  std::vector<std::string> notes{};  ///< What was left out when reading.

  /// Numbers of others, which do not say all that a run's do.
  [[nodiscard]] bool foreign() const { return kind == SideKind::log; }
};

/// A folder is a run, a file is a table or a log. Throws Error(usage).
[[nodiscard]] LoadedSide load_side(const std::string& path, const tuner::ImportOptions& options);

/// The records to compare: of the mode asked for; else of `like`'s, if there are any; else of the first there are.
[[nodiscard]] tuner::Side side_of(const LoadedSide& loaded, std::optional<tuner::Mode> mode,
                                  std::optional<tuner::CacheState> cache, const LoadedSide* like);

}  // namespace attune::driver

template <>
struct attune::detail::Names<attune::driver::SideKind> {
  static constexpr const char* what = "kind";
  static constexpr std::array<std::string_view, 3> list{"run", "log", "table"};
};
