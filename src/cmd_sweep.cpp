/// attune sweep: the command line.
#include <filesystem>
#include <memory>
#include <sstream>
#include <vector>

#include "src/command.h"
#include "src/device_memory.h"
#include "src/mpi_session.h"
#include "src/sweep.h"

namespace attune::driver {

namespace {
struct SweepFlags {
  SweepRequest request;
  std::string device, ranks, dtypes, ops, variants, sizes, blocks, threads, launch_modes, mode, cache, search, budget;
  std::int64_t seed = 0;
  double precision = 0;
  CLI::App* app = nullptr;
};

/// "2,4" as a JSON list of numbers, "f32,bf16" of texts: the configuration's own reader says what is wrong.
Json list_json(const std::string& text) {
  Json list = Json::array();
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) {
    const bool number = !word.empty() && word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos;
    list.push_back(number ? Json(std::stoll(word)) : Json(word));
  }
  return list;
}

Json overrides_of(const SweepFlags& flags) {
  Json json = Json::object();
  const auto lists = {std::pair("ranks", &flags.ranks),     std::pair("dtypes", &flags.dtypes),
                      std::pair("ops", &flags.ops),         std::pair("variants", &flags.variants),
                      std::pair("sizes", &flags.sizes),     std::pair("blocks", &flags.blocks),
                      std::pair("threads", &flags.threads), std::pair("launch_modes", &flags.launch_modes)};
  for (const auto& [key, value] : lists)
    if (!value->empty()) json[key] = list_json(*value);
  const auto words = {std::pair("device", &flags.device), std::pair("mode", &flags.mode),
                      std::pair("cache", &flags.cache), std::pair("search", &flags.search),
                      std::pair("budget", &flags.budget)};
  for (const auto& [key, value] : words)
    if (!value->empty()) json[key] = *value;
  if (flags.app->count("--seed") > 0) json["seed"] = flags.seed;
  if (flags.app->count("--precision") > 0) json["precision"] = flags.precision;
  return json;
}

void declare(CLI::App& app, SweepFlags& flags) {
  flags.app = &app;
  app.add_option("--config", flags.request.config,
                 "Configuration (JSON); with --device cuda configs/cuda.json if none is given");
  app.add_option("--device", flags.device, "host (ranks are processes on CPUs, the default) or cuda (a GPU per rank)");
  app.add_option(
      "--local", flags.request.local,
      "cuda, without mpirun: so many ranks as streams of one GPU; right results, and times without any link");
  app.add_option("--out", flags.request.out, "Run folder to write; with --device cuda runs/cuda if none is given");
  app.add_flag("--resume", flags.request.resume, "Continue the run in --out; cells that hung or crashed are skipped");
  app.add_flag("--append", flags.request.append,
               "Measure all cases once more into --out, as one more launch; the table then rests on all of them")
      ->excludes("--resume");
  app.add_option("--budget", flags.budget, "Time for all measuring: 90s, 10m, 2h; 0, the default: no limit");
  app.add_option("--seed", flags.seed, "Order of cases and candidates");
  app.add_option("--ranks", flags.ranks, "Rank counts, subsets of the launched ranks: 2,4,8");
  app.add_option("--sizes", flags.sizes, "Sizes of one rank's input: 8,64K,1M");
  app.add_option("--dtypes", flags.dtypes, "f64, f32, f16, bf16, f8e4m3, f8e5m2, i8, u8, i32, u32, i64, u64");
  app.add_option("--ops", flags.ops, "sum, avg, prod, min, max");
  app.add_option("--variants", flags.variants, "Algorithms; the vendor is always measured");
  app.add_option("--blocks", flags.blocks, "Blocks: on host threads of a rank, on cuda thread blocks: 1,2,4");
  app.add_option("--threads", flags.threads, "cuda: threads of a block: 256,512");
  app.add_option("--launch-modes", flags.launch_modes, "eager; cuda: graph, too");
  app.add_option("--mode", flags.mode, "latency (isolated calls) or throughput (back to back)");
  app.add_option("--cache", flags.cache, "rewritten, rotating or hot buffers");
  app.add_option("--search", flags.search, "exhaustive or racing");
  app.add_option("--precision", flags.precision, "Half-width of a median's 99 % interval at which a cell is done");
  app.footer(
      "Flags replace keys of the configuration. Example:\n"
      "  mpirun -n 2 attune sweep --config configs/quick.json --out runs/today\n"
      "  mpirun -n 2 attune sweep --config configs/quick.json --out runs/today --append\n"
      "  mpirun -n 8 attune sweep --device cuda --out runs/gpus\n"
      "  attune sweep --device cuda --local 4 --out runs/one-gpu\n"
      "Exit codes: 0 all cells right, 4 a cell hung, 5 none of the variants can run here, 6 bad configuration or "
      "folder, 7 a cell gave wrong results.");
}

/// configs/cuda.json of the checkout or the installation that this program belongs to; empty where there is none.
std::string config_for_gpus() {
  std::error_code none;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  for (const auto* place : {"../../configs", "../share/attune/configs"})
    if (const auto file = (folder / place / "cuda.json").lexically_normal(); std::filesystem::exists(file, none))
      return file.string();
  return {};
}

/// A GPU that is not there is the first thing to say: what else the command line lacks does not matter then. On GPUs
/// both have a default.
void complete_flags(SweepFlags& flags) {
  if (flags.device == name_of(DeviceKind::cuda)) {
    require_gpu_alone();
    if (flags.request.config.empty()) flags.request.config = config_for_gpus();
    if (flags.request.out.empty() && !flags.request.resume && !flags.request.append) flags.request.out = "runs/cuda";
  }
  const auto require = [](const std::string& value, const char* name) {
    if (value.empty())
      throw Error(Status::usage, std::string("sweep: ") + name + " is required", "see attune sweep --help");
  };
  require(flags.request.config, "--config");
  require(flags.request.out, "--out");
}
}  // namespace

Command make_sweep_command() {
  auto flags = std::make_shared<SweepFlags>();
  return {.name = "sweep",
          .help = "Measure all variants over sizes, dtypes and rank counts; validate; write a run folder",
          .options = [flags](CLI::App& app) { declare(app, *flags); },
          .run =
              [flags] {
                complete_flags(*flags);
                flags->request.overrides = overrides_of(*flags);
                return with_mpi([&](MpiSession& session) {
                  if (flags->device == name_of(DeviceKind::cuda)) require_gpus(session);
                  Executor executor;
                  return run_sweep(session, flags->request, executor);
                });
              }};
}

}  // namespace attune::driver
