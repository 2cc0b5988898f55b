/// attune lookup: what a table answers for one problem, and which step of the look-up answered.
#include <fmt/format.h>

#include <cstdio>

#include "api/limits.h"
#include "api/settings.h"
#include "dispatch/dispatcher.h"
#include "dispatch/find.h"
#include "dispatch/json.h"
#include "runtime/available.h"
#include "runtime/cuda_device.h"
#include "src/command.h"
#include "src/manifest.h"
#include "src/units.h"
#include "src/words.h"
#include "variants/registry.h"

namespace attune::driver {

namespace {
constexpr auto lookup_names = all_variant_names();

struct LookupFlags {
  std::string table, dtype = "f32", op = "sum", bytes, placement = "out_of_place", memory = "registered",
                     launch_mode = "eager", numerics = "rank_order", collective = "allreduce", epilogue = "none",
                     device = "host";
  int ranks = 2;
  Index cols = 0;
  bool json = false, strict = false;
};

Problem problem_of(const LookupFlags& flags) {
  Problem problem;
  problem.collective = parse_word<Collective>(flags.collective, "--collective");
  problem.dtype = parse_dtype(flags.dtype, "--dtype");
  problem.op = parse_word<Op>(flags.op, "--op");
  problem.ranks = flags.ranks;
  problem.placement = parse_word<Placement>(flags.placement, "--placement");
  problem.memory = parse_word<Memory>(flags.memory, "--memory");
  problem.launch_mode = parse_word<LaunchMode>(flags.launch_mode, "--launch-mode");
  problem.epilogue = parse_word<EpilogueKind>(flags.epilogue, "--epilogue");
  problem.count = parse_bytes(flags.bytes, "--bytes") / size_of(problem.dtype);
  problem.cols = flags.cols;
  if (flags.cols > 0) problem.rows = problem.count / flags.cols;
  if (flags.ranks < 1 || flags.ranks > max_ranks)
    throw Error(Status::usage, fmt::format("--ranks is {}", flags.ranks), fmt::format("a team has 1 to {}", max_ranks));
  return problem;
}

Json looked_up_json(const Rule& rule) {
  Json json = to_json(rule.plan);
  json["min_bytes"] = rule.min_bytes;
  if (rule.time_us > 0) json["time_us"] = rule.time_us;
  if (rule.ci_us[1] > 0) json["ci_us"] = rule.ci_us;
  if (rule.vendor_us > 0) json["vendor_us"] = rule.vendor_us;
  json["confidence"] = name_of(rule.confidence);
  return json;
}

/// The domains that ATTUNE_DOMAINS names; those of a launch are known only there.
host::Domains domains_of_team(int ranks) {
  const auto given = domains_from_environment(ranks);
  if (!given.empty()) return host::group_given(given, ranks);
  return {.count = 1, .near = ranks, .why_one = "ATTUNE_DOMAINS is not set; mpirun -n N attune info shows a launch's"};
}

/// What a team on this device makes of the answer.
struct Outcome {
  DeviceKind device;
  host::Domains domains;
  Plan plan;  ///< That runs there.

  /// "of one domain: …" or "of 2 domains (…) of 2 ranks each".
  [[nodiscard]] std::string text() const {
    return domains.count == 1 ? "of one domain: " + domains.why_one : "of " + to_string(domains);
  }
};

void print_json(const FoundTable& found, const Problem& problem, const TableKey& asked, const Answer& answer,
                const Outcome& outcome) {
  Json json;
  json["problem"] = to_json(problem);
  json["bytes"] = problem.bytes();
  json["plan"] = to_json(answer.plan());
  json["runs_as"] = to_json(outcome.plan);
  if (outcome.device == DeviceKind::host)
    json["domains"] = {
        {"count", outcome.domains.count}, {"ranks_each", outcome.domains.near}, {"text", outcome.text()}};
  json["answered_by"] = explain(answer, asked);
  json["exact"] = answer.exact();
  json["table"] = found.file.path;
  json["found_by"] = found.file.found_by;
  json["key"] = answer.built_in() ? Json() : Json(to_string(answer.table->key));
  json["rule"] = looked_up_json(*answer.rule);
  json["warning"] = found.warning;
  fmt::print("{}\n", json.dump(2));
}

/// "from 4K (next rule at 1M)": where the answering rule holds.
std::string reach_of(const Answer& answer) {
  std::string text = "from " + format_bytes(answer.rule->min_bytes);
  if (answer.built_in()) return text;
  const auto& rules = answer.table->rules;
  const auto next = static_cast<std::size_t>(answer.rule - rules.data()) + 1;
  return text + (next < rules.size() ? " to below " + format_bytes(rules[next].min_bytes) : " on");
}

void print_text(const FoundTable& found, const Problem& problem, const TableKey& asked, const Answer& answer,
                const Outcome& outcome) {
  const Rule& rule = *answer.rule;
  fmt::print("problem   {} {} bytes\n", to_string(asked), problem.bytes());
  fmt::print("plan      {}\n", to_string(rule.plan));
  if (outcome.plan != rule.plan) fmt::print("runs as   {}\n", to_string(outcome.plan));
  fmt::print("answered  {}\n", explain(answer, asked));
  if (outcome.device == DeviceKind::host) fmt::print("team      {}\n", outcome.text());
  fmt::print("rule      {}\n", reach_of(answer));
  if (rule.time_us > 0 && rule.vendor_us > 0)
    fmt::print("measured  {:.2f} us, vendor {:.2f} us ({:.2f} times as fast), confidence {}\n", rule.time_us,
               rule.vendor_us, rule.vendor_us / rule.time_us, name_of(rule.confidence));
  if (found.file.path.empty())
    fmt::print("table     none: the built-in default\n");
  else
    fmt::print("table     {} (found by {})\n", found.file.path, found.file.found_by);
  if (!found.warning.empty()) fmt::print(stderr, "attune: warning: {}\n", found.warning);
}

/// A table of GPUs may be asked where there is none. Its file must be named: folders go by the hardware.
FoundTable find_table_without_gpu(const LookupFlags& flags, const TableLimits& limits) {
  FoundTable found;
  if (flags.table.empty() && process_environment("ATTUNE_TABLE").empty()) return found;
  const auto file = find_table(flags.table, Hardware{.device = DeviceKind::cuda}, process_environment, ATTUNE_PREFIX);
  if (!file) return found;
  found.file = *file;
  found.table = load_table(file->path, limits);
  found.warning = "no GPU here to compare the table's hardware with: " + found.table.hardware.name;
  return found;
}

FoundTable find_table_of(DeviceKind device, const LookupFlags& flags) {
  const TableLimits limits = limits_of(device, lookup_names);
  const bool no_gpu = device == DeviceKind::cuda && !cuda::why_no_device().empty();
  FoundTable found = no_gpu ? find_table_without_gpu(flags, limits)
                            : find_and_load_table(flags.table, hardware_of(device), limits, flags.strict,
                                                  process_environment, ATTUNE_PREFIX);
  if (found.file.path.empty()) return found;
  if (const DeviceKind theirs = found.table.hardware.device; theirs != device)
    throw Error(
        Status::usage,
        fmt::format("{}: a table of device {}, asked for {}", found.file.path, name_of(theirs), name_of(device)),
        fmt::format("use --device {}, or another table", name_of(theirs)));
  if (no_gpu && flags.strict) throw Error(Status::usage, found.warning, "look up where the GPU is, or drop --strict");
  return found;
}

Status look_up(const LookupFlags& flags) {
  const Problem problem = problem_of(flags);
  const auto device = parse_word<DeviceKind>(flags.device, "--device");
  const host::Domains domains = domains_of_team(problem.ranks);
  const auto found = find_table_of(device, flags);
  const auto numerics = parse_word<Numerics>(flags.numerics, "--numerics");
  const Dispatcher dispatcher(found.table, device, problem.ranks, numerics, host::names_for(domains));
  const Answer answer = dispatcher.find(problem);
  const TableKey asked = key_of(problem, numerics);
  const bool on_host = device == DeviceKind::host;
  const Outcome outcome{device, domains, on_host ? host::runnable(answer.plan(), domains) : answer.plan()};
  flags.json ? print_json(found, problem, asked, answer, outcome) : print_text(found, problem, asked, answer, outcome);
  return Status::success;
}

void declare(CLI::App& app, LookupFlags& flags) {
  app.add_option("--table", flags.table, "Dispatch table; 'none' = built-in; default: ATTUNE_TABLE, then the folders");
  app.add_option("--bytes", flags.bytes, "Size of one rank's input, such as 1M")->required();
  app.add_option("--device", flags.device, "host or cuda")->capture_default_str();
  app.add_option("--ranks", flags.ranks, "Ranks of the team")->capture_default_str();
  app.add_option("--dtype", flags.dtype, "f64 f32 f16 bf16 f8e4m3 f8e5m2 i8 u8 i32 u32 i64 u64")->capture_default_str();
  app.add_option("--op", flags.op, "sum avg prod min max")->capture_default_str();
  app.add_option("--placement", flags.placement, "out_of_place or in_place")->capture_default_str();
  app.add_option("--memory", flags.memory, "registered or staged")->capture_default_str();
  app.add_option("--launch-mode", flags.launch_mode, "eager or graph")->capture_default_str();
  app.add_option("--numerics", flags.numerics, "Loosest class: rank_order, per_hop, in_switch")->capture_default_str();
  app.add_option("--collective", flags.collective, "allreduce, or a fused kernel")->capture_default_str();
  app.add_option("--epilogue", flags.epilogue, "none scale bias residual relu")->capture_default_str();
  app.add_option("--cols", flags.cols, "Fused kernels: the row length");
  app.add_flag("--strict", flags.strict, "A table of other hardware is an error");
  app.add_flag("--json", flags.json, "Print one JSON object");
  app.footer("Example:\n  attune lookup --table runs/today/table.json --ranks 2 --dtype f32 --op sum --bytes 1M");
}

}  // namespace

Command make_lookup_command() {
  auto flags = std::make_shared<LookupFlags>();
  return {.name = "lookup",
          .help = "Show the plan that a table picks for one problem, and why",
          .options = [flags](CLI::App& app) { declare(app, *flags); },
          .run = [flags] { return look_up(*flags); },
          .uses_ranks = false};
}

}  // namespace attune::driver
