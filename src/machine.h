#pragma once
/// The machine as its user should see it: cores, caches, topology, memory, GPUs on the bus, shared memory.
#include <string>

#include "dispatch/json.h"

namespace attune::driver {

/// {"host", "kernel", "packages", "numa_nodes", "cores", "cpus", "allowed_cpus", "memory_bytes",
///  "caches": [{"name", "bytes", "count", "cpus_each"}], "tree": [lines], "gpus_on_pci": [names],
///  "dev_shm": {"bytes", "free_bytes"}}
[[nodiscard]] Json describe_machine();

/// The CPUs that this process may run on, as a list: "0-3,8".
[[nodiscard]] std::string allowed_cpus();

}  // namespace attune::driver
