#include "runtime/host_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "core/types.h"

namespace attune::host {

namespace {
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The first CPU of a list that holds all of `cpus`.
int holder(const cpu_set_t& cpus, const std::string& list) {
  const auto holds = detail::parse_cpu_list(list);
  if (holds.first < 0) return CpuPlace::unknown;
  cpu_set_t both;
  CPU_AND(&both, &cpus, &holds.cpus);
  return CPU_EQUAL(&both, &cpus) != 0 ? holds.first : CpuPlace::several;
}

/// The list of the CPUs that share the last level of cache with one.
std::string cache_list(const std::string& cpu) {
  std::string list;
  int last = 0;
  for (int index = 0;; ++index) {
    const std::string cache = fmt::format("{}/cache/index{}/", cpu, index);
    const std::string level = text_of(cache + "level");
    if (level.empty()) return list;
    if (level[0] - '0' <= last) continue;
    last = level[0] - '0';
    list = text_of(cache + "shared_cpu_list");
  }
}

/// The list of the CPUs of one's NUMA node: there is a link to it beside what else is known of the CPU.
std::string node_list(const std::string& cpu) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(cpu, none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9')
      return text_of(entry.path().string() + "/cpulist");
  }
  return {};
}

/// What of a place is a domain.
struct Level {
  int CpuPlace::*of;
  DomainKind kind;
};
constexpr std::array levels{Level{&CpuPlace::package, DomainKind::package}, Level{&CpuPlace::node, DomainKind::node},
                            Level{&CpuPlace::cache, DomainKind::cache}};

/// What to do for `domains` domains. By core, all ranks land in the first socket that has enough of them, and by socket
/// they take turns: only a number for each gives every socket consecutive ranks.
std::string advice(DomainKind kind, std::size_t ranks, std::size_t domains) {
  if (kind == DomainKind::given) return "give consecutive ranks the same number, as many of them each";
  if (ranks % domains != 0) return fmt::format("launch a multiple of {} ranks", domains);
  const std::size_t each = ranks / domains;
  if (each < 2) return "bind them with --bind-to core";
  if (kind == DomainKind::cache) return "place them with --map-by core --bind-to core";
  if (kind == DomainKind::node) return fmt::format("place them with --map-by ppr:{}:numa --bind-to core", each);
  return fmt::format("place them with --map-by ppr:{}:socket --bind-to core (Open MPI 5: ppr:{}:package)", each, each);
}

Domains one(std::size_t ranks, std::string why) {
  return {.count = 1, .near = static_cast<int>(ranks), .kind = DomainKind::given, .why_one = std::move(why)};
}
}  // namespace

const char* name_of(DomainKind kind) {
  constexpr std::array names{"package", "NUMA node", "last-level cache", "given domain"};
  return names.at(static_cast<std::size_t>(kind));
}

detail::CpuList detail::parse_cpu_list(std::string_view text) {
  CpuList list;
  CPU_ZERO(&list.cpus);
  const char* at = text.data();
  const char* const end = at + text.substr(0, text.find('\n')).size();
  while (at < end) {
    int from = 0, to = 0;
    auto read = std::from_chars(at, end, from);
    to = from;
    if (read.ec == std::errc{} && read.ptr < end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, to);
    if (read.ec != std::errc{} || from < 0 || to < from || to >= CPU_SETSIZE || (read.ptr < end && *read.ptr != ','))
      return {{}, -1};
    for (int cpu = from; cpu <= to; ++cpu) CPU_SET(static_cast<std::size_t>(cpu), &list.cpus);
    if (list.first < 0) list.first = from;
    at = read.ptr + 1;
  }
  return list;
}

CpuPlace place_of(const cpu_set_t& cpus, const std::string& root) {
  std::size_t first = 0;
  while (first < CPU_SETSIZE && !CPU_ISSET(first, &cpus)) ++first;
  if (first == CPU_SETSIZE) return {};
  const std::string cpu = fmt::format("{}/cpu/cpu{}", root, first);
  std::string package = text_of(cpu + "/topology/package_cpus_list");
  if (package.empty()) package = text_of(cpu + "/topology/core_siblings_list");  // its name before Linux 5.4
  return {holder(cpus, package), holder(cpus, node_list(cpu)), holder(cpus, cache_list(cpu))};
}

CpuPlace my_place() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return {};  // more CPUs than the set holds
  return place_of(mine, "/sys/devices/system");
}

Domains group(std::span<const int> ranks, DomainKind kind) {
  const auto differs = std::ranges::find_if(ranks, [&](int domain) { return domain != ranks[0]; });
  const auto near = static_cast<std::size_t>(differs - ranks.begin());
  if (near == ranks.size()) return one(ranks.size(), fmt::format("all ranks are in one {}", name_of(kind)));
  bool regular = ranks.size() % near == 0;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (std::size_t s = 0; s < r; ++s) regular = regular && (ranks[r] == ranks[s]) == (r / near == s / near);
  if (!regular)
    return one(ranks.size(), fmt::format("the ranks of each {} are not consecutive or not equally many ({}): {}",
                                         name_of(kind), fmt::join(ranks, ","),
                                         advice(kind, ranks.size(), std::set(ranks.begin(), ranks.end()).size())));
  return {.count = static_cast<int>(ranks.size() / near), .near = static_cast<int>(near), .kind = kind, .why_one = {}};
}

Domains group_given(std::span<const int> given, int ranks) {
  return group(given.first(std::min(given.size(), static_cast<std::size_t>(ranks))), DomainKind::given);
}

Domains divide(std::span<const CpuPlace> ranks) {
  std::string why = "this system does not tell where its CPUs are";
  for (const auto& [of, kind] : levels) {
    std::vector<int> where;
    for (const CpuPlace& place : ranks) where.push_back(place.*of);
    if (std::ranges::find(where, CpuPlace::unknown) != where.end()) continue;
    const auto loose = std::ranges::find(where, CpuPlace::several);
    if (loose != where.end())
      return one(ranks.size(), fmt::format("rank {} may run in more than one {}: {}", loose - where.begin(),
                                           name_of(kind), advice(kind, ranks.size(), 2)));
    Domains domains = group(where, kind);
    if (domains.count > 1 && domains.near == 1)
      return one(ranks.size(), fmt::format("every rank has a {} of its own", name_of(kind)));
    if (domains.count > 1 || std::ranges::count(where, where[0]) < std::ssize(where)) return domains;
    why = domains.why_one;
  }
  return one(ranks.size(), why);
}

Domains agree_on_domains(Bootstrap& bootstrap, const std::vector<int>& given) {
  const auto places = bootstrap.gather(my_place());
  if (given.empty()) return divide(places);
  return group_given(given, bootstrap.size());
}

std::string to_string(const Domains& domains) {
  if (domains.count == 1) return "one: " + domains.why_one;
  const std::string what =
      domains.kind == DomainKind::given ? "given by hand" : fmt::format("{}s", name_of(domains.kind));
  return fmt::format("{} domains ({}) of {} rank{} each", domains.count, what, domains.near,
                     domains.near > 1 ? "s" : "");
}

}  // namespace attune::host
