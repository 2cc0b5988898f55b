/// attune verify: the command line.
#include <fmt/format.h>

#include <cstdio>
#include <sstream>

#include "api/settings.h"
#include "runtime/mpi_bootstrap.h"
#include "src/command.h"
#include "src/device_memory.h"
#include "src/manifest.h"
#include "src/mpi_session.h"
#include "src/units.h"
#include "src/verify.h"
#include "src/watchdog.h"
#include "src/words.h"

namespace attune::driver {

namespace {
struct VerifyFlags {
  std::string table, from = "8", to = "16M", dtypes = "f32", op = "sum", placement = "out_of_place",
                     memory = "registered", numerics = "rank_order", cache = "rewritten", blocks = "1", device = "host",
                     fail_above;
  int points = 20, rounds = 40;
  std::uint64_t seed = 1;
  bool json = false, strict = false;
};

std::vector<int> parse_blocks(const std::string& text) {
  std::vector<int> blocks;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const Bytes value = parse_bytes(word, "verify: --blocks");
    if (value < 1 || value > 64) throw Error(Status::usage, "verify: --blocks '" + word + "'", "use 1 to 64, as 1,2,4");
    blocks.push_back(static_cast<int>(value));
  }
  return blocks;
}

/// "5%" or "0.05" as a fraction.
double parse_share(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string_view unit(end);
  if (end == text.c_str() || !(value >= 0) || !(unit.empty() || unit == "%"))
    throw Error(Status::usage, "verify: --fail-above '" + text + "' is not a share", "give it as 5% or 0.05");
  return unit.empty() ? value : value / 100;
}

VerifyRequest understand(const VerifyFlags& flags) {
  VerifyRequest request;
  request.min_bytes = parse_bytes(flags.from, "verify: --from");
  request.max_bytes = parse_bytes(flags.to, "verify: --to");
  if (request.max_bytes < request.min_bytes)
    throw Error(Status::usage, fmt::format("verify: --from {} is more than --to {}", flags.from, flags.to),
                "give the smaller one first");
  request.points = flags.points;
  request.rounds = flags.rounds;
  request.dtypes = parse_dtypes(flags.dtypes, "verify: --dtypes");
  request.op = parse_word<Op>(flags.op, "verify: --op");
  request.placement = parse_word<Placement>(flags.placement, "verify: --placement");
  request.memory = parse_word<Memory>(flags.memory, "verify: --memory");
  request.numerics = parse_word<Numerics>(flags.numerics, "verify: --numerics");
  request.cache = parse_word<tuner::CacheState>(flags.cache, "verify: --cache");
  request.blocks = parse_blocks(flags.blocks);
  request.seed = flags.seed;
  return request;
}

Status run(MpiSession& session, const VerifyFlags& flags, const VerifyRequest& request, double limit) {
  Options options;
  options.device = parse_word<DeviceKind>(flags.device, "verify: --device");
  if (options.device == DeviceKind::cuda) {
    require_gpus(session);
    if (is_emulated(hardware_of(DeviceKind::cuda)))
      throw Error(Status::unsupported, "verify: emulated GPUs have no times", "run it on GPUs");
  }
  options.table = flags.table;
  options.strict = flags.strict;
  options.numerics = request.numerics;
  TeamRequest room{.or_nothing = true};
  room.timeout_s = timeout_from_environment(room.timeout_s);
  (request.memory == Memory::registered ? room.registered_bytes : room.staged_bytes) =
      std::max<Bytes>(request.max_bytes, 64);
  require_one_node(MPI_COMM_WORLD);
  SweepTeam team(
      std::make_unique<MpiBootstrap>(MPI_COMM_WORLD),
      [options](double) { return std::make_unique<Communicator>(MPI_COMM_WORLD, options); }, room);
  const Watchdog watchdog(patience_of(room.timeout_s));
  Executor executor;
  const auto points = verify(team, executor, request);
  const VerifySummary summary = summary_of(points);
  if (session.rank() == 0) {
    const std::string path = team.comm().table_path();
    if (!team.comm().table_warning().empty()) fmt::print(stderr, "attune: warning: {}\n", team.comm().table_warning());
    if (team.oversubscribed(1)) fmt::print(stderr, "attune: note: more ranks than cores: not times of this hardware\n");
    fmt::print("{}\n", flags.json ? to_json(points, path).dump(2) : to_text(points));
  }
  if (limit >= 0 && summary.regret_geomean > limit)
    throw Error(
        Status::wrong,
        fmt::format("verify: the mean regret is {:.2f} %, above {:.2f} %", 100 * summary.regret_geomean, 100 * limit),
        "sweep and tune anew on an idle machine");
  return Status::success;
}

void declare(CLI::App& app, VerifyFlags& flags) {
  app.add_option("--table", flags.table, "Dispatch table; 'none' = built-in; default: ATTUNE_TABLE, then the folders");
  app.add_flag("--strict", flags.strict, "A table of other hardware is an error");
  app.add_option("--points", flags.points, "Sizes to draw")->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_option("--from", flags.from, "Smallest size")->capture_default_str();
  app.add_option("--to", flags.to, "Largest size")->capture_default_str();
  app.add_option("--rounds", flags.rounds, "Calls of each plan and size")
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str();
  app.add_option("--dtypes", flags.dtypes, "One, a list, or all")->capture_default_str();
  app.add_option("--op", flags.op, "sum avg prod min max")->capture_default_str();
  app.add_option("--placement", flags.placement, "out_of_place or in_place")->capture_default_str();
  app.add_option("--memory", flags.memory, "registered or staged")->capture_default_str();
  app.add_option("--device", flags.device, "host or cuda")->capture_default_str();
  app.add_option("--numerics", flags.numerics, "Loosest class that may compete")->capture_default_str();
  app.add_option("--cache", flags.cache, "rewritten or hot")->capture_default_str();
  app.add_option("--blocks", flags.blocks, "Blocks of the plans to compare with: 1,2")->capture_default_str();
  app.add_option("--seed", flags.seed, "Draws other sizes")->capture_default_str();
  app.add_option("--fail-above", flags.fail_above, "Exit with 7 if the mean regret is above this share: 5%");
  app.add_flag("--json", flags.json, "Print one JSON object");
  app.footer("Example:\n  mpirun -n 2 attune verify --table runs/today/table.json --points 20 --fail-above 5%");
}

}  // namespace

Command make_verify_command() {
  auto flags = std::make_shared<VerifyFlags>();
  return {.name = "verify",
          .help = "Measure a table's choice against the vendor and all others at sizes it was not tuned on",
          .options = [flags](CLI::App& app) { declare(app, *flags); },
          .run =
              [flags] {
                const VerifyRequest request = understand(*flags);
                const double limit = flags->fail_above.empty() ? -1 : parse_share(flags->fail_above);
                return with_mpi([&](MpiSession& session) { return run(session, *flags, request, limit); });
              }};
}

}  // namespace attune::driver
