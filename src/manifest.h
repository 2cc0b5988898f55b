#pragma once
/// What a run was made with: enough to know later whether two runs may be compared.
#include <string>
#include <vector>

#include "dispatch/json.h"
#include "dispatch/table.h"

namespace attune::driver {

/// The MPI that the program runs with: "Open MPI 4.1.4".
[[nodiscard]] std::string vendor_version();
/// "2026-11-29T12:00:00Z"
[[nodiscard]] std::string utc_now();

struct LaunchFacts {
  std::string id;                     ///< Names this start of the program in every record.
  std::vector<std::string> bindings;  ///< By rank: the CPUs that it may run on, "0-3,8".
  bool oversubscribed = false;        ///< More ranks than cores.
  std::vector<std::string> clocks{};  ///< cuda: of each GPU that rank 0 sees, at the start; empty on host.
  std::string vendor_log{};           ///< cuda: "on", or why the vendor is not asked what it runs.
  int local_team = 0;                 ///< cuda: ranks are so many streams of one GPU; 0: each has its own.
};

/// Hardware, machine, software, environment that matters, and the configuration.
[[nodiscard]] Json new_manifest(const Json& config, const LaunchFacts& launch);
/// One more start of the program on the same run. Throws Error(usage) if the configuration or hardware is another one;
/// a budget may differ.
[[nodiscard]] Json continued_manifest(Json manifest, const Json& config, const LaunchFacts& launch);

/// What stands behind a device here, or on cuda behind a local team of so many streams (cuda::hardware). Throws
/// Error(device) when there is none.
[[nodiscard]] Hardware hardware_of(DeviceKind device, int local_team = 0);
/// Is it one that only tests have: times mean nothing there, and nobody is shown any.
[[nodiscard]] bool is_emulated(const Hardware& hardware);
/// The rules of a table of such hardware rest on no times.
void drop_times(Table& table);
[[nodiscard]] Software software_here(DeviceKind device = DeviceKind::host);

}  // namespace attune::driver
