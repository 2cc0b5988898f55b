/// attune tune: one or more run folders become one dispatch table.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <optional>
#include <vector>

#include "api/limits.h"
#include "src/command.h"
#include "src/journal.h"
#include "src/manifest.h"
#include "src/run_reading.h"
#include "src/sha256.h"
#include "src/words.h"
#include "tuner/build_table.h"
#include "variants/registry.h"

namespace attune::driver {

namespace {
constexpr auto tuned_names = variant_names();

struct TuneFlags {
  std::vector<std::string> runs;
  std::string out, previous, numerics = "rank_order", objective = "time", mode = "latency", cache;
  double tie = 0.02, slack = 0.05, confidence = 0.99;
  bool explain = false, imported = false;
};

/// What a table is made from.
struct Evidence {
  std::vector<tuner::Record> records{};
  Hardware hardware{};
  Software software{};
  std::string runs{}, journals{};
  std::map<std::string, std::string> run_of{};  ///< By the hash of its journal.
};

/// A run that is named twice, or was copied, would count every sample twice.
void refuse_double(Evidence& evidence, const ReadRun& run) {
  if (run.journal.empty()) return;
  const auto [first, fresh] = evidence.run_of.emplace(sha256(run.journal), run.path);
  if (!fresh)
    throw Error(Status::usage, fmt::format("tune: {} holds the same samples as {}", run.path, first->second),
                "name each run once");
}

/// Runs of different hardware are no evidence for each other; different software is worth a word.
void add_facts(Evidence& evidence, const ReadRun& run) {
  if (evidence.runs.empty()) {
    evidence.hardware = run.hardware;
    evidence.software = run.software;
    return;
  }
  if (run.hardware != evidence.hardware)
    throw Error(Status::usage,
                fmt::format("{}: measured on {}, the runs before on {}", run.path, run.hardware.fingerprint,
                            evidence.hardware.fingerprint),
                "tune runs of one kind of machine together");
  if (run.software != evidence.software)
    fmt::print(stderr, "attune: warning: {}: other software ({}, {}) than the runs before\n", run.path,
               run.software.attune, run.software.vendor);
}

void add_run(Evidence& evidence, const std::string& path, bool imported) {
  ReadRun run = read_run(path);
  if (is_imported(run) && !imported)
    throw Error(Status::usage, path + ": imported numbers, which have no interval",
                "say --imported to let them decide");
  refuse_double(evidence, run);
  add_facts(evidence, run);
  for (const auto& warning : run.warnings) fmt::print(stderr, "attune: warning: {}\n", warning);
  evidence.records.insert(evidence.records.end(), std::make_move_iterator(run.records.begin()),
                          std::make_move_iterator(run.records.end()));
  evidence.runs += (evidence.runs.empty() ? "" : ", ") + path;
  evidence.journals += run.journal;
}

tuner::DecisionOptions tune_options(const TuneFlags& flags) {
  tuner::DecisionOptions options;
  options.tie = flags.tie;
  options.slack = flags.slack;
  options.confidence = flags.confidence;
  options.numerics = parse_word<Numerics>(flags.numerics, "tune: --numerics");
  if (flags.objective != "time" && flags.objective != "blocks")
    refuse_word(flags.objective, "tune: --objective", {"time", "blocks"});
  options.objective = flags.objective == "time" ? tuner::Objective::time : tuner::Objective::blocks;
  options.filter.mode = parse_word<tuner::Mode>(flags.mode, "tune: --mode");
  if (!flags.cache.empty()) options.filter.cache = parse_word<tuner::CacheState>(flags.cache, "tune: --cache");
  return options;
}

Status tune(const TuneFlags& flags) {
  const auto options = tune_options(flags);
  if (flags.out.empty() && flags.runs.size() > 1)
    throw Error(Status::usage, "tune: several runs and no --out", "say where the table goes");
  Evidence evidence;
  for (const auto& run : flags.runs) add_run(evidence, run, flags.imported);
  if (flags.explain && is_emulated(evidence.hardware))
    throw Error(Status::unsupported, "tune: --explain: emulated GPUs have no times", "leave --explain out");
  std::optional<Table> previous;
  TableLimits limits = limits_of(evidence.hardware.device, tuned_names);
  limits.why_not = nullptr;  // another software's choices may stay as they are
  if (!flags.previous.empty()) previous = load_table(flags.previous, limits);
  const auto tuned = tuner::tune(evidence.records, tuner::facts_of_variant, options, previous ? &*previous : nullptr);
  const Source source{evidence.runs, sha256(evidence.journals), utc_now()};
  Table table = tuner::table_of(tuned, evidence.hardware, evidence.software, source);
  if (is_emulated(table.hardware)) drop_times(table);
  const std::string out = flags.out.empty() ? flags.runs.front() + "/table.json" : flags.out;
  write_file(out, to_text(table));
  std::size_t rules = 0;
  for (const auto& key : tuned) {
    rules += key.rules.size();
    if (flags.explain) fmt::print("{}\n", tuner::explain(key, flags.confidence));
  }
  fmt::print("{}: {} tables, {} rules, from {} records of {}\n", out, table.tables.size(), rules,
             evidence.records.size(), evidence.runs);
  return Status::success;
}

void declare(CLI::App& app, TuneFlags& flags) {
  app.add_option("run", flags.runs, "Run folders of sweeps on one kind of machine")->required();
  app.add_option("--out", flags.out, "Where the table goes; default with one run: its table.json");
  app.add_option("--tie", flags.tie, "Relative difference below which two times are equal")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--confidence", flags.confidence, "Of all intervals")
      ->check(CLI::Range(0.5, 0.9999))
      ->capture_default_str();
  app.add_option("--numerics", flags.numerics, "Loosest class that may compete: rank_order, per_hop, in_switch")
      ->capture_default_str();
  app.add_option("--objective", flags.objective, "time, or blocks: the fewest blocks within --slack of the fastest")
      ->capture_default_str();
  app.add_option("--slack", flags.slack, "For --objective blocks")->check(CLI::Range(0.0, 10.0))->capture_default_str();
  app.add_option("--mode", flags.mode, "Times to use: latency or throughput")->capture_default_str();
  app.add_option("--cache", flags.cache, "Times to use: rewritten, rotating or hot; default: the first that there is");
  app.add_option("--previous", flags.previous, "A table to stay with where nothing is faster beyond the tie");
  app.add_flag("--imported", flags.imported, "Let runs that attune import wrote decide too");
  app.add_flag("--explain", flags.explain, "Print the evidence for every rule");
  app.footer(
      "Examples:\n"
      "  attune tune runs/today --explain\n"
      "  attune tune runs/monday runs/tuesday --out table.json --previous runs/monday/table.json");
}

}  // namespace

Command make_tune_command() {
  auto flags = std::make_shared<TuneFlags>();
  return {.name = "tune",
          .help = "Turn the samples of one or more runs into a dispatch table",
          .options = [flags](CLI::App& app) { declare(app, *flags); },
          .run = [flags] { return tune(*flags); },
          .uses_ranks = false};
}

}  // namespace attune::driver
