#include "src/compare_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "src/journal.h"
#include "src/run_reading.h"

namespace attune::driver {

namespace {

bool holds(const LoadedSide& loaded, tuner::Mode mode) {
  return std::ranges::any_of(loaded.records, [mode](const auto& record) { return record.mode == mode; });
}

LoadedSide load_run_side(const std::string& path) {
  ReadRun run = read_run(path);
  LoadedSide loaded{.name = path, .kind = is_imported(run) ? SideKind::log : SideKind::run, .what = "run"};
  if (loaded.foreign()) loaded.what = "imported run";
  loaded.records = std::move(run.records);
  loaded.notes = std::move(run.warnings);
  std::error_code ignored;
  if (std::filesystem::exists(path + "/table.json", ignored)) loaded.table = load_table(path + "/table.json", {});
  return loaded;
}

}  // namespace

LoadedSide load_side(const std::string& path, const tuner::ImportOptions& options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return load_run_side(path);
  const std::string text = read_file(path);
  if (text.find("\"attune-dispatch\"") != std::string::npos)
    return {.name = path, .kind = SideKind::table, .what = "table", .table = parse_table(text, path, {})};
  tuner::ImportOptions named = options;
  named.launch = path;
  auto imported = tuner::import_text(text, path, named);
  return {.name = path,
          .kind = SideKind::log,
          .what = fmt::format("{} ({})", name_of(imported.kind), imported.tool),
          .records = std::move(imported.records),
          .notes = std::move(imported.notes)};
}

tuner::Side side_of(const LoadedSide& loaded, std::optional<tuner::Mode> mode, std::optional<tuner::CacheState> cache,
                    const LoadedSide* like) {
  tuner::Side side{loaded.records, {}};
  side.filter.cache = loaded.foreign() ? std::nullopt : cache;
  side.filter.mode = holds(loaded, tuner::Mode::latency) ? tuner::Mode::latency : tuner::Mode::throughput;
  if (like != nullptr && like->foreign() && !like->records.empty() && holds(loaded, like->records.front().mode))
    side.filter.mode = like->records.front().mode;
  if (mode && !loaded.foreign()) side.filter.mode = *mode;
  return side;
}

}  // namespace attune::driver
