/// attune info: what this machine is, what can run here and why the rest cannot, which table would be used.
#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "api/limits.h"
#include "api/settings.h"
#include "core/hardware.h"
#include "dispatch/find.h"
#include "dispatch/json.h"
#include "runtime/available.h"
#include "runtime/cuda_device.h"
#include "runtime/host_registry.h"
#include "runtime/mpi_bootstrap.h"
#include "src/command.h"
#include "src/machine.h"
#include "src/mpi_session.h"
#include "src/units.h"

namespace attune::driver {

namespace {
constexpr auto table_names = all_variant_names();

Json describe_hardware() {
  const Hardware here = host_hardware();
  return {{"device", name_of(here.device)},
          {"name", here.name},
          {"arch", here.arch},
          {"instruction_set", host::instruction_set()},
          {"links", here.links},
          {"fingerprint", here.fingerprint}};
}

Json describe_mpi() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0, version = 0, subversion = 0;
  MPI_Get_library_version(text.data(), &length);
  MPI_Get_version(&version, &subversion);
  const std::string library(text.data(), static_cast<std::size_t>(length));
  return {{"library", library.substr(0, library.find_first_of(",\n"))},
          {"standard", fmt::format("{}.{}", version, subversion)}};
}

Json describe_cuda() {
  Json gpus = Json::array();
  for (const auto& gpu : cuda::devices())
    gpus.push_back({{"device", gpu.ordinal},
                    {"name", gpu.name},
                    {"arch", gpu.arch},
                    {"bus_id", gpu.bus_id},
                    {"multiprocessors", gpu.multiprocessors},
                    {"memory_bytes", gpu.memory_bytes}});
  Json cuda{{"built", cuda::built()}, {"why_not", cuda::why_no_device()}, {"driver", cuda::driver_version()}};
  if (!gpus.empty()) cuda["fingerprint"] = cuda::hardware().fingerprint;
  cuda["gpus"] = std::move(gpus);
  return cuda;
}

Json describe_variants(const host::Domains& domains) {
  Json variants = Json::array();
  for (const auto& info : variant_table) {
    const std::string reason = host::why_not(info, domains);
    variants.push_back({{"variant", info.name},
                        {"label", info.traits.label},
                        {"numerics", name_of(info.traits.numerics)},
                        {"runs_here", reason.empty()},
                        {"why_not", reason}});
  }
  return variants;
}

/// A table that cannot be read is what its user wants to learn here, not a reason to say nothing.
Json describe_table(const std::string& option) {
  Json json{{"path", ""}, {"found_by", ""}, {"rules", 0}, {"warning", ""}, {"error", ""}};
  try {
    const auto found = find_and_load_table(option, host_hardware(), limits_of(DeviceKind::host, table_names), false,
                                           process_environment, ATTUNE_PREFIX);
    std::size_t rules = 0;
    for (const auto& keyed : found.table.tables) rules += keyed.rules.size();
    json["path"] = found.file.path;
    json["found_by"] = found.file.found_by;
    json["rules"] = rules;
    json["warning"] = found.warning;
  } catch (const Error& error) {
    json["error"] = error.what();
  }
  json["folders"] = table_folders(process_environment, ATTUNE_PREFIX);
  return json;
}

Json describe_domains(const host::Domains& domains) {
  return {{"count", domains.count},
          {"ranks_each", domains.near},
          {"kind", domains.count > 1 ? name_of(domains.kind) : ""},
          {"why_one", domains.why_one},
          {"text", to_string(domains)}};
}

Json describe_all(const std::string& table, const host::Domains& domains) {
  return {{"attune", ATTUNE_VERSION},
          {"hardware", describe_hardware()},
          {"machine", describe_machine()},
          {"domains", describe_domains(domains)},
          {"mpi", describe_mpi()},
          {"cuda", describe_cuda()},
          {"variants", describe_variants(domains)},
          {"table", describe_table(table)}};
}

void print_machine(const Json& info) {
  const Json& hardware = info["hardware"];
  const Json& machine = info["machine"];
  const auto text = [](const Json& value) { return value.get<std::string>(); };
  fmt::print("attune {} on {} ({})\n\n", text(info["attune"]), text(machine["host"]), text(machine["kernel"]));
  fmt::print("processor     {} ({}, kernels for {})\n", text(hardware["name"]), text(hardware["arch"]),
             text(hardware["instruction_set"]));
  fmt::print("cores         {} cores, {} CPUs, {} packages, {} NUMA nodes; this process may use CPUs {}\n",
             machine["cores"].get<int>(), machine["cpus"].get<int>(), machine["packages"].get<int>(),
             machine["numa_nodes"].get<int>(), text(machine["allowed_cpus"]));
  fmt::print("domains       {}\n", text(info["domains"]["text"]));
  for (const auto& cache : machine["caches"])
    fmt::print("cache {}      {} × {}, each for {} CPUs\n", text(cache["name"]), cache["count"].get<int>(),
               readable_bytes(cache["bytes"].get<Bytes>()), cache["cpus_each"].get<int>());
  fmt::print("memory        {}; /dev/shm {}, {} free\n", readable_bytes(machine["memory_bytes"].get<Bytes>()),
             readable_bytes(machine["dev_shm"]["bytes"].get<Bytes>()),
             readable_bytes(machine["dev_shm"]["free_bytes"].get<Bytes>()));
  fmt::print("MPI           {} (MPI {})\n", text(info["mpi"]["library"]), text(info["mpi"]["standard"]));
  const Json& cuda = info["cuda"];
  fmt::print("cuda          {}\n",
             cuda["gpus"].empty() ? text(cuda["why_not"]) : text(cuda["driver"]) + ", " + text(cuda["fingerprint"]));
  for (const auto& gpu : cuda["gpus"])
    fmt::print("  device {:<4} {} ({}, {} multiprocessors, {}) at {}\n", gpu["device"].get<int>(), text(gpu["name"]),
               text(gpu["arch"]), gpu["multiprocessors"].get<int>(), readable_bytes(gpu["memory_bytes"].get<Bytes>()),
               text(gpu["bus_id"]));
  for (const auto& gpu : machine["gpus_on_pci"]) fmt::print("  on the bus  {}\n", text(gpu));
  fmt::print("fingerprint   {}\n\ntopology\n", text(hardware["fingerprint"]));
  for (const auto& line : machine["tree"]) fmt::print("  {}\n", text(line));
}

void print_variants_and_table(const Json& info) {
  const auto text = [](const Json& value) { return value.get<std::string>(); };
  fmt::print("\nvariants\n");
  for (const auto& one : info["variants"])
    fmt::print("  {:<20} {:<24} {:<11} {}\n", text(one["variant"]), text(one["label"]), text(one["numerics"]),
               one["runs_here"].get<bool>() ? "runs here" : "cannot run here: " + text(one["why_not"]));
  const Json& table = info["table"];
  fmt::print("\ntable\n");
  if (!text(table["error"]).empty())
    fmt::print("  cannot be used: {}\n", text(table["error"]));
  else if (text(table["path"]).empty())
    fmt::print("  none found: the built-in default answers\n");
  else
    fmt::print("  {} (found by {}), {} rules\n", text(table["path"]), text(table["found_by"]),
               table["rules"].get<std::size_t>());
  if (!text(table["warning"]).empty()) fmt::print("  warning: {}\n", text(table["warning"]));
  for (const auto& folder : table["folders"]) fmt::print("  folder looked at: {}\n", text(folder));
}

/// Where every rank runs, in rank order, on rank 0. Collective.
Json describe_ranks(const MpiSession& session) {
  constexpr int length = 512;
  std::array<char, length> mine{};
  std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
  int host_length = 0;
  MPI_Get_processor_name(host.data(), &host_length);
  fmt::format_to_n(mine.data(), length - 1, "{} CPUs {}", host.data(), allowed_cpus());
  std::vector<char> all(mine.size() * static_cast<std::size_t>(session.size()));
  MPI_Gather(mine.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR, 0, session.world());
  Json ranks = Json::array();
  for (int rank = 0; rank < session.size(); ++rank)
    ranks.push_back({{"rank", rank}, {"where", &all[static_cast<std::size_t>(rank) * mine.size()]}});
  return ranks;
}

/// Of the ranks of this launch. Collective.
host::Domains domains_of_launch(const MpiSession& session) {
  try {
    require_one_node(session.world());
  } catch (const Error&) {  // on all ranks
    return {.count = 1, .near = session.size(), .why_one = "the ranks are on several nodes"};
  }
  MpiBootstrap bootstrap(session.world());
  return host::agree_on_domains(bootstrap, domains_from_environment(session.size()));
}

struct InfoFlags {
  std::string table;
  bool json = false;
};

void print_all(const InfoFlags& flags, const host::Domains& domains, const Json& ranks) {
  Json info = describe_all(flags.table, domains);
  if (!ranks.empty()) info["ranks"] = ranks;
  if (flags.json) {
    fmt::print("{}\n", info.dump(2));
    return;
  }
  print_machine(info);
  for (const auto& rank : ranks)
    fmt::print("{}  rank {} on {}\n", rank["rank"] == 0 ? "\nranks\n" : "", rank["rank"].get<int>(),
               rank["where"].get<std::string>());
  print_variants_and_table(info);
}

bool launched_by_mpirun() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

Status tell(const InfoFlags& flags) {
  if (!launched_by_mpirun()) {
    print_all(flags, {.count = 1, .near = 1, .why_one = "one rank; mpirun -n N attune info shows those of N"},
              Json::array());
    return Status::success;
  }
  return with_mpi([&flags](MpiSession& session) {
    const Json ranks = describe_ranks(session);
    const host::Domains domains = domains_of_launch(session);
    if (session.rank() == 0) print_all(flags, domains, ranks);
    return Status::success;
  });
}

}  // namespace

Command make_info_command() {
  auto flags = std::make_shared<InfoFlags>();
  return {.name = "info",
          .help = "Show this machine, what can run on it, and which table would be used",
          .options =
              [flags](CLI::App& app) {
                app.add_option("--table", flags->table, "Ask about this table instead of the one that is found");
                app.add_flag("--json", flags->json, "Print one JSON object");
                app.footer("Examples:\n  attune info\n  mpirun -n 4 attune info    where each rank runs, too");
              },
          .run = [flags] { return tell(*flags); }};
}

}  // namespace attune::driver
