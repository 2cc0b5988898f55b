/// attune export: a table in the form of other software's tuning files.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/hardware.h"
#include "dispatch/find.h"
#include "src/command.h"
#include "src/journal.h"
#include "src/run_reading.h"
#include "src/words.h"
#include "tuner/build_table.h"
#include "tuner/exports/exports.h"

namespace attune::driver {

namespace {

struct ExportFlags {
  std::string table, run, format, out = "-", base, dtype, op, placement, memory, mode = "latency";
  bool safe_noncommutative = false;
};

tuner::ExportOptions export_options(const ExportFlags& flags) {
  tuner::ExportOptions options;
  if (!flags.dtype.empty()) options.dtype = parse_dtype(flags.dtype, "export: --dtype");
  if (!flags.op.empty()) options.op = parse_word<Op>(flags.op, "export: --op");
  if (!flags.placement.empty()) options.placement = parse_word<Placement>(flags.placement, "export: --placement");
  if (!flags.memory.empty()) options.memory = parse_word<Memory>(flags.memory, "export: --memory");
  options.safe_noncommutative = flags.safe_noncommutative;
  if (!flags.base.empty()) options.base = read_file(flags.base);
  options.base_name = flags.base;
  return options;
}

/// The best of what the other software can be told: its own algorithms and its default, from a run's samples.
Table table_of_run(const ReadRun& run, tuner::ExportFormat format, tuner::Mode mode) {
  const auto prefix = tuner::exportable_prefix(format);
  std::vector<tuner::Record> records;
  std::ranges::copy_if(run.records, std::back_inserter(records), [&](const tuner::Record& record) {
    return record.plan.variant == "vendor" || record.plan.variant.starts_with(prefix);
  });
  if (std::ranges::none_of(records, [&](const auto& record) { return record.plan.variant.starts_with(prefix); }))
    throw Error(Status::usage, fmt::format("export: {} measured none of {}…", run.path, prefix),
                fmt::format("sweep with \"variants\": [\"{}ALGORITHM\", …] in the configuration", prefix));
  tuner::DecisionOptions options;
  options.filter.mode = mode;
  return tuner::table_of(tuner::tune(records, tuner::facts_of_variant, options, nullptr), run.hardware, run.software,
                         {.run = std::filesystem::path(run.path).lexically_normal().filename().string(),
                          .journal_sha256 = "",
                          .created = ""});
}

Table table_of_file(const ExportFlags& flags) {
  const auto file = find_table(flags.table, host_hardware(), process_environment, ATTUNE_PREFIX);
  if (!file)
    throw Error(Status::usage, "export: no table and no run", "name one with --table, or a run folder with --run");
  return load_table(file->path, {});
}

tuner::Exported exported(const ExportFlags& flags) {
  const auto format = parse_word<tuner::ExportFormat>(flags.format, "export: --format");
  const auto options = export_options(flags);
  if (flags.run.empty()) return tuner::export_table(table_of_file(flags), format, options);
  if (!flags.table.empty())
    throw Error(Status::usage, "export: both --table and --run", "the run's table is RUN/table.json; give one of them");
  const ReadRun run = read_run(flags.run);
  const auto mode = parse_word<tuner::Mode>(flags.mode, "export: --mode");
  if (format == tuner::ExportFormat::nccl_optimize_csv)
    return tuner::export_measurements(run.records, {.mode = mode, .cache = {}});
  return tuner::export_table(table_of_run(run, format, mode), format, options);
}

Status export_to_file(const ExportFlags& flags) {
  const auto result = exported(flags);
  for (const auto& note : result.notes) fmt::print(stderr, "attune: note: {}\n", note);
  if (flags.out == "-")
    fmt::print("{}", result.text);
  else
    write_file(flags.out, result.text);
  return Status::success;
}

void declare(CLI::App& app, ExportFlags& flags) {
  app.add_option("--format", flags.format, "openmpi, openmpi-json, mpich, ucc, nccl-csv or nccl-optimize-csv")
      ->required();
  app.add_option("--table", flags.table, "Dispatch table; default: ATTUNE_TABLE, then the folders");
  app.add_option("--run", flags.run, "Instead of a table: the best of the other software's own algorithms in a run");
  app.add_option("--out", flags.out, "File to write; - is standard output")->capture_default_str();
  app.add_option("--base", flags.base, "mpich: libmpich.so or generic.json, whose trees of other collectives stay");
  app.add_option("--dtype", flags.dtype, "Of several tables for a number of ranks: the one of this dtype");
  app.add_option("--op", flags.op, "… of this op");
  app.add_option("--placement", flags.placement, "… of this placement");
  app.add_option("--memory", flags.memory, "… of this kind of memory");
  app.add_option("--mode", flags.mode, "With --run: times to use, latency or throughput")->capture_default_str();
  app.add_flag("--safe-noncommutative", flags.safe_noncommutative,
               "openmpi: no algorithm that is wrong for non-commutative operations");
  app.footer(
      "Examples:\n"
      "  attune export --table runs/today/table.json --format openmpi --out rules.conf\n"
      "  mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename $PWD/rules.conf …\n"
      "  attune export --run runs/vendor --format mpich --base /usr/lib/x86_64-linux-gnu/libmpich.so.12 --out "
      "coll.json");
}

}  // namespace

Command make_export_command() {
  auto flags = std::make_shared<ExportFlags>();
  return {.name = "export",
          .help = "Write a table as a tuning file of Open MPI, MPICH, UCC or NCCL",
          .options = [flags](CLI::App& app) { declare(app, *flags); },
          .run = [flags] { return export_to_file(*flags); },
          .uses_ranks = false};
}

}  // namespace attune::driver
