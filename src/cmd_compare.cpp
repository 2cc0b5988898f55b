/// attune compare: old against new, with the honesty of intervals.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "src/command.h"
#include "src/compare_print.h"
#include "src/run_reading.h"
#include "src/words.h"

namespace attune::driver {

namespace {

struct CompareFlags {
  std::string old_side, new_side, variant, variants, run, mode, cache, dtype, fail_above;
  double confidence = 0.99;
  int ranks = 0;
  bool json = false;
};

tuner::ImportOptions import_options(const CompareFlags& flags) {
  tuner::ImportOptions options{.ranks = flags.ranks};
  if (!flags.dtype.empty()) options.dtype = parse_dtype(flags.dtype, "compare: --dtype");
  return options;
}

tuner::Side side_for(const CompareFlags& flags, const LoadedSide& loaded, const LoadedSide* like) {
  std::optional<tuner::Mode> mode;
  std::optional<tuner::CacheState> cache;
  if (!flags.mode.empty()) mode = parse_word<tuner::Mode>(flags.mode, "compare: --mode");
  if (!flags.cache.empty()) cache = parse_word<tuner::CacheState>(flags.cache, "compare: --cache");
  return side_of(loaded, mode, cache, like);
}

/// `tuned`, or a variant's name, as it stands for a side. A log has no table and few names.
tuner::Pick pick_of(const std::string& word, const LoadedSide& side) {
  return word == "tuned" ? tuner::pick_tuned(side.table) : tuner::pick_variant(word);
}

/// What is different in kind between the sides, and weakens every number.
std::vector<std::string> cautions_of(const tuner::Side& before, const tuner::Side& after, const LoadedSide& old_side,
                                     const LoadedSide& new_side) {
  std::vector<std::string> cautions;
  if (before.filter.mode != after.filter.mode)
    cautions.push_back(fmt::format("old is {}, new is {}: isolated calls and calls back to back are different things",
                                   name_of(before.filter.mode), name_of(after.filter.mode)));
  if (old_side.foreign() || new_side.foreign())
    cautions.emplace_back(
        "a log does not say how its caches, clocks and bindings were: its numbers are taken as they are");
  else
    cautions.emplace_back(
        "the sides were measured at different times: what differs between launches is in an interval "
        "only where a side has several");
  return cautions;
}

void print_notes(const LoadedSide& side) {
  for (const auto& note : side.notes) fmt::print(stderr, "attune: note: {}: {}\n", side.name, note);
}

/// More than this share slower beyond the noise is a failure; negative: never.
double limit_of(const CompareFlags& flags) {
  if (flags.fail_above.empty()) return -1;
  std::string_view text = flags.fail_above;
  if (text.ends_with('%')) text.remove_suffix(1);
  double percent = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (code != std::errc{} || end != text.data() + text.size() || percent < 0)
    throw Error(Status::usage, "compare: --fail-above '" + flags.fail_above + "'", "give per cent, as 5%");
  return percent / 100;
}

Status judged(const tuner::ComparedRuns& compared, double limit) {
  if (limit < 0) return Status::success;
  const auto too_slow = std::ranges::count_if(compared.cells, [limit](const auto& cell) {
    return cell.verdict == tuner::Verdict::slower && cell.ratio.ratio > 1 + limit;
  });
  if (too_slow > 0) fmt::print(stderr, "attune: {} cells are slower beyond the limit\n", too_slow);
  return too_slow > 0 ? Status::wrong : Status::success;
}

Status finish(const CompareFlags& flags, const tuner::ComparedRuns& compared, const std::vector<std::string>& cautions,
              const LoadedSide& before, const LoadedSide& after) {
  const double limit = limit_of(flags);
  if (compared.cells.empty())
    throw Error(Status::usage,
                fmt::format("compare: {} and {} have no cell in common ({} only in old, {} only in new)", before.name,
                            after.name, compared.only_old, compared.only_new),
                "compare the same dtypes, ops, ranks, sizes and variants");
  if (flags.json) {
    Json json{{"old", {{"name", before.name}, {"kind", before.what}, {"notes", before.notes}}},
              {"new", {{"name", after.name}, {"kind", after.what}, {"notes", after.notes}}},
              {"cautions", cautions},
              {"cells", cells_json(compared.cells)},
              {"only_old", compared.only_old},
              {"only_new", compared.only_new}};
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
    return judged(compared, limit);
  }
  fmt::print("old  {} ({})\nnew  {} ({})\n", before.name, before.what, after.name, after.what);
  for (const auto& caution : cautions) fmt::print("note: {}\n", caution);
  print_cells(compared.cells);
  print_counts(compared);
  return judged(compared, limit);
}

Status compare_variants(const CompareFlags& flags, const LoadedSide& before, const LoadedSide* after) {
  const std::size_t comma = flags.variants.find(',');
  if (comma == std::string::npos || comma == 0 || comma + 1 == flags.variants.size())
    throw Error(Status::usage, "compare: --variants '" + flags.variants + "'", "name two, as --variants ring,two_shot");
  const std::string old_word = flags.variants.substr(0, comma);
  const std::string new_word = flags.variants.substr(comma + 1);
  const auto side = side_for(flags, before, after);
  if (after == nullptr) {
    const auto compared =
        tuner::compare_picks(side, pick_of(old_word, before), pick_of(new_word, before), flags.confidence);
    return finish(flags, compared, {}, before, before);
  }
  const auto other = side_for(flags, *after, &before);
  const auto compared =
      tuner::compare_runs(side, other, pick_of(old_word, before), pick_of(new_word, *after), false, flags.confidence);
  return finish(flags, compared, cautions_of(side, other, before, *after), before, *after);
}

Status compare_runs(const CompareFlags& flags, const LoadedSide& before, const LoadedSide& after) {
  const bool foreign = before.foreign() || after.foreign();
  auto old_side = side_for(flags, before, &after);
  auto new_side = side_for(flags, after, &before);
  const auto cautions = cautions_of(old_side, new_side, before, after);
  if (foreign) {
    old_side = tuner::loosened(std::move(old_side));
    new_side = tuner::loosened(std::move(new_side));
  }
  const std::string word = flags.variant.empty() && foreign ? "tuned" : flags.variant;
  const auto pick = [&](const LoadedSide& side) {
    if (word.empty()) return tuner::pick_all();
    return side.foreign() ? tuner::pick_tuned(std::nullopt) : pick_of(word, side);
  };
  const auto compared =
      tuner::compare_runs(old_side, new_side, pick(before), pick(after), word.empty(), flags.confidence);
  return finish(flags, compared, cautions, before, after);
}

Status compare_tables(const CompareFlags& flags, const LoadedSide& before, const LoadedSide& after) {
  auto changes = tuner::compare_tables(*before.table, *after.table);
  if (!flags.run.empty()) {
    const LoadedSide run = load_side(flags.run, {});
    if (run.kind != SideKind::run)
      throw Error(Status::usage, "compare: --run " + flags.run + " is no run", "name a folder that attune sweep wrote");
    tuner::add_evidence(changes, side_for(flags, run, nullptr), flags.confidence);
  }
  if (flags.json) {
    fmt::print("{}\n", Json{{"old", before.name}, {"new", after.name}, {"changes", changes_json(changes)}}.dump(2));
    return Status::success;
  }
  fmt::print("old  {} ({})\nnew  {} ({})\n", before.name, before.table->source.run, after.name,
             after.table->source.run);
  print_changes(changes);
  return Status::success;
}

Status compare(const CompareFlags& flags) {
  const auto options = import_options(flags);
  const LoadedSide before = load_side(flags.old_side, options);
  if (!flags.json) print_notes(before);
  if (flags.new_side.empty() && flags.variants.empty())
    throw Error(Status::usage, "compare: one side only", "name two, or --variants OLD,NEW of one run");
  if (flags.new_side.empty()) return compare_variants(flags, before, nullptr);
  const LoadedSide after = load_side(flags.new_side, options);
  if (!flags.json) print_notes(after);
  const bool tables = before.kind == SideKind::table && after.kind == SideKind::table;
  if (!tables && (before.kind == SideKind::table || after.kind == SideKind::table))
    throw Error(Status::usage,
                "compare: a table against a " + std::string(before.kind == SideKind::table ? after.what : before.what),
                "compare two tables (a run's is RUN/table.json), or two runs or logs");
  if (tables) return compare_tables(flags, before, after);
  if (!flags.variants.empty()) return compare_variants(flags, before, &after);
  return compare_runs(flags, before, after);
}

void declare(CLI::App& app, CompareFlags& flags) {
  app.add_option("old", flags.old_side, "Run folder, table, or log of nccl-tests (text or JSON), OSU, MSCCL++")
      ->required();
  app.add_option("new", flags.new_side, "The same; may be left out with --variants");
  app.add_option("--variant", flags.variant,
                 "One cell for each size: of this variant, or `tuned`; default: all plans, against a log `tuned`");
  app.add_option("--variants", flags.variants, "OLD,NEW: one variant (or `tuned`) against another");
  app.add_option("--run", flags.run, "With tables: the run whose samples say what the changes mean");
  app.add_option("--mode", flags.mode, "Times of runs to use: latency or throughput; default: as the log's");
  app.add_option("--cache", flags.cache, "Times of runs to use: rewritten, rotating or hot");
  app.add_option("--confidence", flags.confidence, "Of intervals")
      ->check(CLI::Range(0.5, 0.9999))
      ->capture_default_str();
  app.add_option("--ranks", flags.ranks, "Where a log does not say it")->check(CLI::Range(1, 1 << 20));
  app.add_option("--dtype", flags.dtype, "Where a log does not say it");
  app.add_option("--fail-above", flags.fail_above, "Exit with 7 if a cell is surely slower by more than this, as 5%");
  app.add_flag("--json", flags.json, "Print one JSON object");
  app.footer(
      "Examples:\n"
      "  attune compare runs/monday runs/today --fail-above 5%\n"
      "  attune compare all_reduce_perf.log runs/today --variant tuned\n"
      "  attune compare runs/today --variants vendor,two_shot\n"
      "  attune compare old/table.json runs/today/table.json --run runs/today");
}

}  // namespace

Command make_compare_command() {
  auto flags = std::make_shared<CompareFlags>();
  return {.name = "compare",
          .help = "Old against new: runs, variants, tables, logs of nccl-tests",
          .options = [flags](CLI::App& app) { declare(app, *flags); },
          .run = [flags] { return compare(*flags); },
          .uses_ranks = false};
}

}  // namespace attune::driver
