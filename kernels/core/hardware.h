#pragma once
/// What a dispatch table was measured on, and the short name under which its file is found.
#include <string>
#include <string_view>

#include "core/types.h"

namespace attune {

enum class DeviceKind : std::uint8_t { host, cuda };
template <>
struct detail::Names<DeviceKind> {
  static constexpr const char* what = "device";
  static constexpr std::array<std::string_view, 2> list{"host", "cuda"};
};

/// One node as the tuner sees it. What a run chooses (ranks, binding) is no part of it.
struct Hardware {
  DeviceKind device = DeviceKind::host;
  std::string
      name{};  ///< Model name as the maker writes it: "AMD EPYC 7763 64-Core Processor", "NVIDIA H100 80GB HBM3".
  std::string arch{};         ///< host: x86-64-v2, x86-64-v3, x86-64-v4, aarch64, …; cuda: sm_90, …
  int ranks_per_node = 0;     ///< Ranks that the node has room for: logical cores (host) or GPUs (cuda).
  std::string links{};        ///< How ranks reach each other: shared-memory, nvlink, pcie.
  std::string fingerprint{};  ///< fingerprint_of the fields above.

  bool operator==(const Hardware&) const = default;
};

/// A stable slug of all fields but the fingerprint itself, fit for a file name: lower-case letters, digits and
/// single hyphens. Trademark signs and words without information ("Processor", "CPU", "@ 2.50GHz") are dropped,
/// so that a change of firmware text does not orphan a table.
[[nodiscard]] std::string fingerprint_of(const Hardware& hardware);

/// This node as a host device: processor model, instruction set level and logical cores of the whole node
/// (not of the cores that this process is bound to).
[[nodiscard]] Hardware host_hardware();

/// Empty if a table of `table` hardware may be used on `here`; else one line that names both and what differs.
[[nodiscard]] std::string hardware_mismatch(const Hardware& table, const Hardware& here);

namespace detail {
/// The model name in the text of /proc/cpuinfo, or empty (exposed for tests).
[[nodiscard]] std::string cpu_model(std::string_view cpuinfo);
}  // namespace detail

}  // namespace attune
