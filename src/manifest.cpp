#include "src/manifest.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <span>

#include "core/hardware.h"
#include "runtime/cuda_backend.h"
#include "runtime/cuda_device.h"
#include "runtime/host_registry.h"
#include "src/commit.h"
#include "src/machine.h"

extern char** environ;

namespace attune::driver {

namespace {
/// Prefixes of variables that change what is measured. Values of others are nobody's business.
constexpr std::array<std::string_view, 15> telling_variables{"ATTUNE_", "OMPI_MCA_", "MPIR_CVAR_", "MPICH_", "I_MPI_",
                                                             "UCC_",    "UCX_",      "PRTE_MCA_",  "FI_",    "OMP_",
                                                             "KMP_",    "GOMP_",     "MALLOC_",    "NCCL_",  "CUDA_"};

/// What the launcher tells its processes: addresses and folders of one job, no choice of anybody's.
constexpr std::array<std::string_view, 5> launcher_variables{"OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_initial_wdir",
                                                             "OMPI_MCA_pmix", "PMIX_MCA_"};

bool starts_with_any(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [text](auto prefix) { return text.starts_with(prefix); });
}

Json environment_here() {
  Json json = Json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !starts_with_any(text, telling_variables) ||
        starts_with_any(text, launcher_variables))
      continue;
    json[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  return json;
}

Json hardware_json(const Hardware& hardware) {
  return {
      {"device", name_of(hardware.device)},        {"name", hardware.name},   {"arch", hardware.arch},
      {"ranks_per_node", hardware.ranks_per_node}, {"links", hardware.links}, {"fingerprint", hardware.fingerprint}};
}

Json launch_json(const LaunchFacts& launch) {
  Json json{{"id", launch.id},
            {"started", utc_now()},
            {"ranks", launch.local_team > 0 ? static_cast<std::size_t>(launch.local_team) : launch.bindings.size()},
            {"bindings", launch.bindings},
            {"oversubscribed", launch.oversubscribed}};
  if (launch.local_team > 0) json["ranks_are"] = "streams of one GPU";
  if (!launch.clocks.empty()) json["sm_clocks"] = launch.clocks;
  if (!launch.vendor_log.empty()) json["vendor_log"] = launch.vendor_log;
  return json;
}

/// The device of a configuration; those of before there were two name none.
DeviceKind device_in(const Json& config) {
  return parse<DeviceKind>(config.value("device", "host")).value_or(DeviceKind::host);
}

/// Names the first key that differs, or nothing. A budget may differ.
std::string difference(const Json& before, const Json& now) {
  for (const Json* side : {&before, &now})
    for (const auto& [key, value] : side->items())
      if (key != "budget" && key != "device" && before.value(key, Json()) != now.value(key, Json())) return key;
  if (device_in(before) != device_in(now)) return "device";
  return {};
}
}  // namespace

std::string vendor_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string library(text.data(), static_cast<std::size_t>(length));
  std::string name = library.substr(0, library.find_first_of(",\n"));
  if (const std::size_t v = name.find(" v"); name.starts_with("Open MPI") && v != std::string::npos)
    name.erase(v + 1, 1);
  return name;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

Hardware hardware_of(DeviceKind device, int local_team) {
  return device == DeviceKind::cuda ? cuda::hardware(local_team) : host_hardware();
}

bool is_emulated(const Hardware& hardware) { return hardware.name.starts_with("emulated"); }

void drop_times(Table& table) {
  for (auto& keyed : table.tables)
    for (auto& rule : keyed.rules) {
      rule.time_us = rule.vendor_us = 0;
      rule.ci_us = {};
    }
}

Software software_here(DeviceKind device) {
  if (device == DeviceKind::host) return {.attune = ATTUNE_VERSION, .vendor = vendor_version(), .driver = ""};
  return {.attune = ATTUNE_VERSION, .vendor = cuda::vendor_version(), .driver = cuda::driver_version()};
}

Json new_manifest(const Json& config, const LaunchFacts& launch) {
  const Hardware here = hardware_of(device_in(config), launch.local_team);
  const Software software = software_here(device_in(config));
  return {{"format", "attune-run"},
          {"version", 1},
          {"created", utc_now()},
          {"hardware", hardware_json(here)},
          {"machine", describe_machine()},
          {"software",
           {{"attune", software.attune},
            {"commit", built_commit()},
            {"vendor", software.vendor},
            {"driver", software.driver},
            {"compiler", __VERSION__},
            {"instruction_set", host::instruction_set()}}},
          {"environment", environment_here()},
          {"config", config},
          {"oversubscribed", launch.oversubscribed},
          {"emulated", is_emulated(here)},
          {"launches", Json::array({launch_json(launch)})}};
}

Json continued_manifest(Json manifest, const Json& config, const LaunchFacts& launch) {
  if (!manifest.is_object() || !manifest.contains("config") || !manifest.contains("hardware"))
    throw Error(Status::usage, "manifest.json is not one of a sweep", "start a new run folder");
  if (const std::string key = difference(manifest["config"], config); !key.empty())
    throw Error(Status::usage,
                fmt::format("the run was made with another configuration: {} was {}, is {}", key,
                            manifest["config"].value(key, Json()).dump(), config.value(key, Json()).dump()),
                "resume with the same configuration, or start a new run folder");
  const std::string here = hardware_of(device_in(config), launch.local_team).fingerprint;
  if (const std::string there = manifest["hardware"].value("fingerprint", ""); there != here)
    throw Error(Status::usage, fmt::format("the run was made on {}, this is {}", there, here),
                "resume on the same hardware, or start a new run folder");
  manifest["launches"].push_back(launch_json(launch));
  manifest["config"]["budget"] = config["budget"];
  return manifest;
}

}  // namespace attune::driver
