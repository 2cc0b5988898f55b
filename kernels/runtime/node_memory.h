#pragma once
/// What the node could still give its processes: asked before much is allocated, because an allocation that the system
/// cannot keep ends in a kill, not in an error.
#include <limits>
#include <string>
#include <string_view>

#include "core/types.h"

namespace attune {

/// Stands for a number that the system does not tell.
inline constexpr Bytes unknown_bytes = std::numeric_limits<Bytes>::max();

struct NodeMemory {
  Bytes available = unknown_bytes;  ///< For processes: of the node, or of the control group (a container, a job).
  Bytes shared = unknown_bytes;     ///< Free in /dev/shm.
};
[[nodiscard]] NodeMemory node_memory();

/// "12.5 GiB", for sums that no Bytes may hold.
[[nodiscard]] std::string readable_amount(double bytes);

/// Empty if `needed` bytes can be had (in /dev/shm too if `in_shared_memory`), else what there is:
/// "12.5 GiB are free in /dev/shm".
[[nodiscard]] std::string why_too_much(double needed, bool in_shared_memory, const NodeMemory& memory);

namespace detail {
/// MemAvailable of /proc/meminfo's text.
[[nodiscard]] Bytes available_in(std::string_view meminfo);
/// What a control group's limit leaves, by the texts of its files: limit, usage and stat, whose inactive file pages can
/// be given back.
[[nodiscard]] Bytes left_in_group(std::string_view limit, std::string_view usage, std::string_view stat);
}  // namespace detail

}  // namespace attune
