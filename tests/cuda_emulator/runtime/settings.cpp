#include "settings.h"

#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace attune::emulator {
namespace {

[[noreturn]] void malformed(const char* name, const std::string& value) {
  std::fprintf(stderr, "emulated: %s=%s is malformed (tests/cuda_emulator/README.md)\n", name, value.c_str());
  std::_Exit(2);
}

std::string text(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
std::uint64_t number(const char* name, const std::string& value) {
  char* end = nullptr;
  const auto result = std::strtoull(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0') malformed(name, value);
  return result;
}
std::uint64_t number_or(const char* name, std::uint64_t otherwise) {
  const auto value = text(name);
  return value.empty() ? otherwise : number(name, value);
}
std::vector<std::string> split(const std::string& value, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= value.size();) {
    const auto end = std::min(value.find(separator, at), value.size());
    if (end > at) parts.push_back(value.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// "all", "none", or pairs: 0-1 both ways, 0>1 for device 0 accessing device 1.
std::vector<bool> matrix(const char* name, int devices, const std::string& value) {
  std::vector<bool> result(static_cast<std::size_t>(devices * devices), value == "all");
  if (value == "all" || value == "none") return result;
  for (const auto& pair : split(value, ',')) {
    const auto at = pair.find_first_of("->");
    if (at == std::string::npos) malformed(name, value);
    const auto from = number(name, pair.substr(0, at)), to = number(name, pair.substr(at + 1));
    const auto count = static_cast<std::uint64_t>(devices);
    if (from >= count || to >= count) malformed(name, value);
    result[from * count + to] = true;
    if (pair[at] == '-') result[to * count + from] = true;
  }
  return result;
}

/// call:nth[@rank][=error], comma separated.
std::vector<PlantedFailure> planted(const std::string& value) {
  const char* name = "ATTUNE_EMULATOR_FAIL";
  std::vector<PlantedFailure> all;
  for (auto entry : split(value, ',')) {
    PlantedFailure failure;
    if (const auto at = entry.find('='); at != std::string::npos) {
      failure.error = static_cast<int>(number(name, entry.substr(at + 1)));
      entry.resize(at);
    }
    if (const auto at = entry.find('@'); at != std::string::npos) {
      failure.rank = static_cast<int>(number(name, entry.substr(at + 1)));
      entry.resize(at);
    }
    if (const auto at = entry.find(':'); at != std::string::npos) {
      failure.nth = number(name, entry.substr(at + 1));
      entry.resize(at);
    }
    failure.call = entry;
    all.push_back(failure);
  }
  return all;
}

/// As CUDA does: the list ends at the first device that does not exist.
std::vector<int> visible_devices(int devices) {
  std::vector<int> all(static_cast<std::size_t>(devices));
  std::iota(all.begin(), all.end(), 0);
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!value) return all;
  std::vector<int> visible;
  for (const auto& entry : split(value, ',')) {
    char* end = nullptr;
    const auto device = std::strtol(entry.c_str(), &end, 10);
    if (*end != '\0' || device < 0 || device >= devices) break;
    visible.push_back(static_cast<int>(device));
  }
  return visible;
}

int launcher_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const auto value = text(name); !value.empty()) return static_cast<int>(number(name, value));
  return 0;
}

Settings read() {
  Settings s;
  s.devices = static_cast<int>(number_or("ATTUNE_EMULATOR_DEVICES", 8));
  if (s.devices > 14) malformed("ATTUNE_EMULATOR_DEVICES", std::to_string(s.devices));
  s.visible = visible_devices(s.devices);
  s.multiprocessors = static_cast<int>(number_or("ATTUNE_EMULATOR_SMS", 16));
  s.architecture = static_cast<int>(number_or("ATTUNE_EMULATOR_ARCH", 90));
  s.memory = number_or("ATTUNE_EMULATOR_MEMORY", 4096) << 20U;
  s.seed = number_or("ATTUNE_EMULATOR_SEED", 1);
  s.reuse = number_or("ATTUNE_EMULATOR_REUSE", 0) != 0;
  const auto peers = text("ATTUNE_EMULATOR_PEERS");
  s.peer = matrix("ATTUNE_EMULATOR_PEERS", s.devices, peers.empty() ? "all" : peers);
  s.broken = matrix("ATTUNE_EMULATOR_BROKEN_PEERS", s.devices, text("ATTUNE_EMULATOR_BROKEN_PEERS"));
  s.failures = planted(text("ATTUNE_EMULATOR_FAIL"));
  s.trace = text("ATTUNE_EMULATOR_TRACE");
  s.kernels = split(text("ATTUNE_EMULATOR_KERNELS"), ':');
  s.rank = launcher_rank();
  return s;
}

}  // namespace

const Settings& settings() {
  static const auto* const all = new Settings(read());  // never destroyed: threads outlive exit handlers
  return *all;
}

}  // namespace attune::emulator
