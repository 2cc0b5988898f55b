/// The -J file of `attune bench`: nccl-tests' JSON, its quirks kept where readers depend on them (root is a padded
/// string, switches are the strings "true" and "false"), and attune's own keys beside them.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>

#include "core/hardware.h"
#include "dispatch/json.h"
#include "src/bench_print.h"
#include "src/manifest.h"
#include "src/words.h"

extern char** environ;

namespace attune::driver {

namespace {
constexpr int format_version = 3;

/// This process' command line.
Json arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  Json words = Json::array();
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

/// What may change a result. Never the whole environment, which holds secrets; nor what mpirun tells its processes.
constexpr std::array<std::string_view, 9> environment_keys{
    "ATTUNE_", "NCCL_", "OMP_", "OMPI_MCA_coll", "OMPI_MCA_btl", "OMPI_MCA_pml", "OMPI_MCA_mpi", "UCX_", "MALLOC_"};

Json environment() {
  Json list = Json::array();
  for (char** entry = environ; *entry != nullptr; ++entry)
    for (const auto prefix : environment_keys)
      if (std::string_view(*entry).starts_with(prefix)) list.push_back(*entry);
  return list;
}

Json configuration(const BenchRequest& request, const std::vector<BenchRank>& ranks, const std::string& table) {
  const auto& flags = request.flags;
  Json json{{"nthreads", 1}, {"ngpus", 1}, {"minimum_bytes", request.min_bytes}, {"maximum_bytes", request.max_bytes}};
  if (flags.step_factor > 1)
    json["step_factor"] = flags.step_factor;
  else
    json["step_bytes"] = request.step_bytes;
  json.update({{"warmup_iters", flags.warm_up},
               {"iterations", flags.iters},
               {"aggregated_iterations", flags.aggregated},
               {"validation", flags.check},
               {"graph", 0},
               {"blocking_collectives", flags.blocking == 1 ? "true" : "false"},
               {"parallel_init", "false"},
               {"memory", name_of(request.memory)},
               {"cache", flags.cache},
               {"numerics", name_of(request.numerics)},
               {"table", request.by_table ? table : ""},
               {"devices", Json::array()}});
  for (const auto& one : ranks)
    json["devices"].push_back({{"rank", one.rank},
                               {"group", 0},
                               {"pid", one.pid},
                               {"hostname", one.host},
                               {"device", 0},
                               {"device_hex", "0000:00:00"},
                               {"device_info", one.device}});
  return json;
}

Json half_json(const BenchRequest& request, const BenchHalf& half, Bytes bytes, int ranks) {
  const bool timed = half.time_us >= 0;
  Json json{{request.flags.cpu_time == 1 ? "cpu_time" : "time", timed ? Json(half.time_us) : Json()},
            {"alg_bw", timed ? Json(algorithm_bandwidth(bytes, half.time_us)) : Json()},
            {"bus_bw", timed ? Json(bus_bandwidth(bytes, half.time_us, ranks)) : Json()},
            {"nwrong", half.wrong < 0 ? Json() : Json(static_cast<double>(half.wrong))},
            {"plan", to_json(half.plan)},
            {"answered_by", half.answered}};
  if (!half.ran.empty()) json["ran"] = half.ran;
  if (!half.ratio) return json;
  json["vendor_time"] = half.ratio->vendor_us;
  json["ratio"] = {{"median", half.ratio->median},
                   {"ci", half.ratio->high > 0 ? Json{half.ratio->low, half.ratio->high} : Json()}};
  return json;
}

Json results(const BenchRequest& request, const std::vector<BenchRow>& rows, int ranks) {
  Json list = Json::array();
  for (const auto& row : rows)
    list.push_back({{"size", row.bytes},
                    {"count", row.bytes / size_of(row.dtype)},
                    {"type", nccl_name(row.dtype)},
                    {"redop", name_of(row.op)},
                    {"root", "    -1"},
                    {"out_of_place", half_json(request, row.half[0], row.bytes, ranks)},
                    {"in_place", half_json(request, row.half[1], row.bytes, ranks)},
                    {"actual_iterations", request.flags.iters},
                    {"experiment_name", ""}});
  return list;
}

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error(Status::usage, fmt::format("bench: cannot write {}: {}", path, std::strerror(errno)),
              "name a file in a folder that exists and can be written");
}

/// Puts `text` at `path`, or at the first of path.0, path.1, … that is free. link() never replaces a file.
std::string put(const std::string& path, const std::string& text) {
  const std::string partial = fmt::format("{}.{}.partial", path, ::getpid());
  std::ofstream file(partial, std::ios::binary);
  file << text << std::flush;
  if (!file) cannot_write(path);
  file.close();
  std::string name = path;
  for (int number = 0; ::link(partial.c_str(), name.c_str()) != 0; ++number) {
    if (errno != EEXIST) {
      const int code = errno;
      ::unlink(partial.c_str());
      errno = code;
      cannot_write(path);
    }
    name = fmt::format("{}.{}", path, number);
  }
  ::unlink(partial.c_str());
  return name;
}
}  // namespace

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
  return text.data();
}

void require_writable(const std::string& path) {
  const std::string probe = fmt::format("{}.{}.partial", path, ::getpid());
  const int file = ::open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0) cannot_write(path);
  ::close(file);
  ::unlink(probe.c_str());
}

std::string write_bench_json(const std::string& path, const BenchRequest& request, const std::vector<BenchRank>& ranks,
                             const std::vector<BenchRow>& rows, const BenchTotals& totals, const std::string& table,
                             const std::string& started) {
  Json json{{"version", format_version},
            {"start_time", started},
            {"args", arguments()},
            {"env", environment()},
            {"nccl_version", 0},
            {"attune_version", ATTUNE_VERSION},
            {"hardware", hardware_of(request.device, request.flags.local).fingerprint},
            {"config", configuration(request, ranks, table)},
            {"results", results(request, rows, static_cast<int>(ranks.size()))},
            {"out_of_bounds", {{"count", totals.wrong}, {"okay", totals.wrong == 0 ? "true" : "false"}}},
            {"average_bus_bandwidth",
             {{"bandwidth", totals.average_busbw},
              {"okay", totals.least_busbw < 0 ? "unchecked"
                       : totals.too_slow()    ? "false"
                                              : "true"}}},
            {"errors", Json::array()},
            {"end_time", time_now()}};
  return put(path, json.dump(2) + "\n");
}

}  // namespace attune::driver
