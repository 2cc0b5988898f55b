#include "runtime/node_memory.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

namespace attune {

namespace {
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The number at the beginning of a text; unknown_bytes for "max", for none, and for one that is too long.
Bytes number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  Bytes value = 0;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{} ? value : unknown_bytes;
}

/// The number behind `key` at the beginning of a line.
Bytes number_after(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size() - 1) + 1)
    if (text.substr(at).starts_with(key)) return number_at(text.substr(at + key.size()));
  return unknown_bytes;
}

/// The least that a control group and those above it leave. `files`: of limit, usage.
Bytes left_along(const std::string& root, std::string group, const std::array<const char*, 2>& files) {
  Bytes least = unknown_bytes;
  for (;;) {
    const std::string folder = root + group + "/";
    const auto left =
        detail::left_in_group(text_of(folder + files[0]), text_of(folder + files[1]), text_of(folder + "memory.stat"));
    least = std::min(least, left);
    if (group.empty()) return least;
    group.resize(std::min(group.rfind('/'), group.size() - 1));
  }
}

/// /proc/self/cgroup names this process' group: "0::/path" (version 2), "4:memory:/path" (version 1).
Bytes left_in_groups() {
  Bytes least = unknown_bytes;
  std::istringstream lines(text_of("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const auto second = line.find(':', line.find(':') + 1);
    if (second == std::string::npos) continue;
    const std::string group = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    if (line.starts_with("0::"))
      least = std::min(least, left_along("/sys/fs/cgroup", group, {"memory.max", "memory.current"}));
    else if (line.find(":memory:") != std::string::npos)
      least = std::min(least,
                       left_along("/sys/fs/cgroup/memory", group, {"memory.limit_in_bytes", "memory.usage_in_bytes"}));
  }
  return least;
}

Bytes free_in_shared_memory() {
  struct statvfs space {};
  if (::statvfs("/dev/shm", &space) != 0 || space.f_blocks == 0) return unknown_bytes;  // no limit: no blocks
  return static_cast<Bytes>(space.f_bavail) * static_cast<Bytes>(space.f_frsize);
}
}  // namespace

Bytes detail::available_in(std::string_view meminfo) {
  const Bytes kib = number_after(meminfo, "MemAvailable:");
  return kib > unknown_bytes / 1024 ? unknown_bytes : kib * 1024;
}

Bytes detail::left_in_group(std::string_view limit, std::string_view usage, std::string_view stat) {
  const Bytes most = number_at(limit), used = number_at(usage);
  if (most == unknown_bytes || used == unknown_bytes) return unknown_bytes;
  Bytes cached = number_after(stat, "total_inactive_file ");
  if (cached == unknown_bytes) cached = number_after(stat, "inactive_file ");
  return std::max<Bytes>(0, most - used + (cached == unknown_bytes ? 0 : std::min(cached, used)));
}

NodeMemory node_memory() {
  return {std::min(detail::available_in(text_of("/proc/meminfo")), left_in_groups()), free_in_shared_memory()};
}

std::string readable_amount(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t power = 0;
  while (bytes >= 1024 && power + 1 < units.size()) bytes /= 1024, ++power;
  return fmt::format("{:.1f} {}", bytes, units[power]);
}

std::string why_too_much(double needed, bool in_shared_memory, const NodeMemory& memory) {
  const Bytes shared = in_shared_memory ? memory.shared : unknown_bytes;
  const Bytes least = std::min(shared, memory.available);
  if (least == unknown_bytes || needed <= static_cast<double>(least)) return {};
  return readable_amount(static_cast<double>(least)) +
         (least == shared ? " are free in /dev/shm" : " of memory are available");
}

}  // namespace attune
