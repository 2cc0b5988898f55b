#include "core/hardware.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace attune {
namespace {

/// Words of a model name that say nothing about which machine it is.
constexpr std::array<std::string_view, 11> noise{"processor", "cpu", "r",  "tm",      "with",     "core",
                                                 "cores",     "gpu", "of", "genuine", "authentic"};

bool is_frequency(std::string_view word) {
  return word.size() > 3 && (word.ends_with("ghz") || word.ends_with("mhz")) &&
         std::isdigit(static_cast<unsigned char>(word.front())) != 0;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0 || letter == '.')
      words.back() += static_cast<char>(std::tolower(byte));
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

void append(std::string& slug, std::string_view part) {
  for (std::string& word : words_of(part)) {
    if (std::ranges::find(noise, word) != noise.end() || is_frequency(word)) continue;
    std::ranges::replace(word, '.', '-');
    slug += (slug.empty() ? "" : "-") + word;
  }
}

std::string read_file(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string machine_name() {
  utsname names{};
  return uname(&names) == 0 ? names.machine : "unknown";
}

std::string host_arch() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  return v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : v2 ? "x86-64-v2" : "x86-64";
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_SVE) != 0 ? "aarch64-sve" : "aarch64";
#else
  return machine_name();
#endif
}

std::string describe(const Hardware& hardware) {
  return "'" + hardware.name + "' (" + std::string(name_of(hardware.device)) + ", " + hardware.arch + ", " +
         std::to_string(hardware.ranks_per_node) + " ranks per node, " + hardware.links + ")";
}

}  // namespace

std::string detail::cpu_model(std::string_view cpuinfo) {
  // x86 says "model name", POWER "cpu", s390x and some ARM "Processor"; most ARM kernels give numbers only.
  for (const std::string_view key : {"model name", "Model Name", "cpu\t", "Processor"}) {
    std::istringstream lines{std::string(cpuinfo)};
    for (std::string line; std::getline(lines, line);) {
      const auto colon = line.find(':');
      if (!line.starts_with(key) || colon == std::string::npos) continue;
      const auto first = line.find_first_not_of(" \t", colon + 1);
      const auto last = line.find_last_not_of(" \t\r");
      if (first != std::string::npos) return line.substr(first, last - first + 1);
    }
  }
  return {};
}

std::string fingerprint_of(const Hardware& hardware) {
  std::string slug(name_of(hardware.device));
  append(slug, hardware.name.empty() ? "unknown" : hardware.name);
  append(slug, hardware.arch);
  slug += "-x" + std::to_string(hardware.ranks_per_node);
  if (hardware.device != DeviceKind::host) append(slug, hardware.links);  // a host has no other links
  return slug;
}

Hardware host_hardware() {
  Hardware here{.device = DeviceKind::host,
                .name = detail::cpu_model(read_file("/proc/cpuinfo")),
                .arch = host_arch(),
                .ranks_per_node = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))),
                .links = "shared-memory",
                .fingerprint = {}};
  if (here.name.empty()) {
    here.name = read_file("/sys/firmware/devicetree/base/model");  // ends with a zero byte
    if (const auto zero = here.name.find('\0'); zero != std::string::npos) here.name.resize(zero);
  }
  if (here.name.empty()) here.name = machine_name();
  here.fingerprint = fingerprint_of(here);
  return here;
}

std::string hardware_mismatch(const Hardware& table, const Hardware& here) {
  if (table.fingerprint == here.fingerprint) return {};
  const std::string measured = "the dispatch table was measured on " + describe(table);
  if (describe(table) != describe(here)) return measured + " and this is " + describe(here);
  return measured + " as this is, but its fingerprint is " + table.fingerprint + " and this machine's is " +
         here.fingerprint;
}

}  // namespace attune
