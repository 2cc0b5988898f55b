/// attune import: numbers that other programs measured become a run folder.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "core/hardware.h"
#include "src/command.h"
#include "src/journal.h"
#include "src/manifest.h"
#include "src/sha256.h"
#include "src/summary.h"
#include "src/words.h"
#include "tuner/imports/imports.h"

namespace attune::driver {

namespace {

struct ImportFlags {
  std::string log, out, dtype;
  int ranks = 0;
  bool here = false;
};

/// Others' hardware is known by a GPU's name at best; `--here` says that it is this machine.
Hardware imported_hardware(const ImportFlags& flags, const tuner::Imported& imported) {
  if (flags.here) return host_hardware();
  Hardware hardware{.device = imported.cuda ? DeviceKind::cuda : DeviceKind::host,
                    .name = imported.device.empty() ? "unknown" : imported.device};
  hardware.fingerprint = fingerprint_of(hardware);
  return hardware;
}

Json manifest_of(const ImportFlags& flags, const tuner::Imported& imported, const std::string& text) {
  const Hardware hardware = imported_hardware(flags, imported);
  const tuner::Record& first = imported.records.front();
  return {{"format", "attune-run"},
          {"version", 1},
          {"created", utc_now()},
          {"hardware",
           {{"device", name_of(hardware.device)},
            {"name", hardware.name},
            {"arch", hardware.arch},
            {"ranks_per_node", hardware.ranks_per_node},
            {"links", hardware.links},
            {"fingerprint", hardware.fingerprint}}},
          {"machine", Json::object()},
          {"software", {{"attune", ATTUNE_VERSION}, {"commit", ""}, {"vendor", imported.tool}, {"driver", ""}}},
          {"environment", Json::object()},
          {"config", {{"mode", name_of(first.mode)}, {"cache", name_of(first.cache)}}},
          {"oversubscribed", false},
          {"launches", Json::array()},
          {"imported",
           {{"from", std::filesystem::path(flags.log).filename().string()},
            {"kind", name_of(imported.kind)},
            {"tool", imported.tool},
            {"sha256", sha256(text)},
            {"notes", imported.notes}}}};
}

/// The manifest comes last: without one the folder is no run.
void write_run(const ImportFlags& flags, const tuner::Imported& imported, const std::string& text) {
  constexpr double precision = 0.03;
  const auto folder = RunFolder::create(flags.out);
  std::string journal;
  for (const auto& record : imported.records) journal += tuner::to_line(record);
  write_file(folder.file("journal.jsonl"), journal);
  write_file(folder.file("summary.csv"), to_csv(summarise(imported.records, precision)));
  write_file(folder.file("manifest.json"),
             manifest_of(flags, imported, text).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Status import_log(const ImportFlags& flags) {
  tuner::ImportOptions options{.ranks = flags.ranks};
  if (!flags.dtype.empty()) options.dtype = parse_dtype(flags.dtype, "import: --dtype");
  const std::string text = read_file(flags.log);
  options.launch = "import-" + sha256(text).substr(0, 12);
  const auto imported = tuner::import_text(text, flags.log, options);
  for (const auto& note : imported.notes) fmt::print(stderr, "attune: note: {}: {}\n", flags.log, note);
  write_run(flags, imported, text);
  fmt::print("{}: {} records of {} ({})\n", flags.out, imported.records.size(), name_of(imported.kind), imported.tool);
  return Status::success;
}

void declare(CLI::App& app, ImportFlags& flags) {
  app.add_option("log", flags.log, "Log of nccl-tests (text or -J JSON) or OSU, or MSCCL++'s tuning JSON")->required();
  app.add_option("--out", flags.out, "Run folder to write")->required();
  app.add_option("--ranks", flags.ranks, "Where the file does not say it")->check(CLI::Range(1, 1 << 20));
  app.add_option("--dtype", flags.dtype, "Where the file does not say it");
  app.add_flag("--here", flags.here, "It was measured on this machine (its hardware is written into the manifest)");
  app.footer(
      "Examples:\n"
      "  attune import all_reduce_perf.log --out runs/nccl\n"
      "  attune import osu.txt --ranks 2 --here --out runs/osu\n"
      "Single numbers have no interval: attune tune uses imported runs only with --imported.");
}

}  // namespace

Command make_import_command() {
  auto flags = std::make_shared<ImportFlags>();
  return {.name = "import",
          .help = "Turn a log of nccl-tests, OSU or MSCCL++ into a run folder",
          .options = [flags](CLI::App& app) { declare(app, *flags); },
          .run = [flags] { return import_log(*flags); },
          .uses_ranks = false};
}

}  // namespace attune::driver
