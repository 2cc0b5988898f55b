#pragma once
/// Where the ranks of a team run, and how they fall into domains: sockets, NUMA nodes, or what shares a last-level
/// cache. Read from /sys/devices/system, as hwloc does on Linux: an application links no library more for it.
#include <sched.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bootstrap.h"

namespace attune::host {

/// What holds all the CPUs that a thread may run on, the larger first; each is named by its first CPU.
struct CpuPlace {
  static constexpr int several = -1;  ///< No single one does,
  static constexpr int unknown = -2;  ///< or the system does not tell.
  int package = unknown;
  int node = unknown;
  int cache = unknown;  ///< The last level.
};

/// What a domain is.
enum class DomainKind : std::uint8_t { package, node, cache, given };
[[nodiscard]] const char* name_of(DomainKind kind);  ///< "package", "NUMA node", "last-level cache", "given domain".

/// How a team falls into domains. Every domain has as many ranks, consecutive ones.
struct Domains {
  int count = 1;
  int near = 1;  ///< Ranks of a domain.
  DomainKind kind = DomainKind::given;
  std::string why_one;  ///< Why there is only one; empty where there are several.

  /// Is crossing dear without a doubt? Caches of one socket share its memory: there only a measurement tells.
  [[nodiscard]] bool far_apart() const { return count > 1 && kind != DomainKind::cache; }
};

/// Where a thread with these CPUs runs. `root`: /sys/devices/system, or a copy of it.
[[nodiscard]] CpuPlace place_of(const cpu_set_t& cpus, const std::string& root);
/// The same of the calling thread.
[[nodiscard]] CpuPlace my_place();

/// The domains of ranks at these places: the largest parts of the machine among which they are spread.
[[nodiscard]] Domains divide(std::span<const CpuPlace> ranks);
/// Domains by hand: the number of every rank's; one domain, with the reason, where they cannot be used.
[[nodiscard]] Domains group(std::span<const int> ranks, DomainKind kind);
/// The same by ATTUNE_DOMAINS or Options::domains, which may name more ranks than a smaller team has.
[[nodiscard]] Domains group_given(std::span<const int> given, int ranks);

/// The domains of a team, equal on all ranks. `given`: the number of every rank's domain, or empty for the machine's.
/// Collective.
[[nodiscard]] Domains agree_on_domains(Bootstrap& bootstrap, const std::vector<int>& given);

/// "2 domains (packages) of 4 ranks each", or "one: …" with the reason.
[[nodiscard]] std::string to_string(const Domains& domains);

namespace detail {
/// A list of CPUs as the system writes it ("0-3,8\n"), and its first one; empty and -1 for anything else.
struct CpuList {
  cpu_set_t cpus;
  int first = -1;
};
[[nodiscard]] CpuList parse_cpu_list(std::string_view text);
}  // namespace detail

}  // namespace attune::host
