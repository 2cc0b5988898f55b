#pragma once
/// Flags between ranks: what lies in memory, and how epochs are compared. Shared by both devices.
///
/// Every ordered pair of ranks has one flag per block, written by one rank only and never reset. Both sides count:
/// notify(p) writes the number of notifies that I have sent to p, wait(p) waits until p's number has reached the
/// number of waits. A rank may run one barrier ahead; the counts then differ by one and nothing is lost.
#include <cstdint>

#include "core/annotations.h"
#include "core/types.h"

namespace attune {

using Epoch = std::uint32_t;

inline constexpr Bytes mail_capacity = 64 * 1024;  ///< Largest message of an in-band variant.
inline constexpr int mail_generations = 2;         ///< They alternate by call: see device/host_memory.h.

/// Has the epoch `seen` reached `expected`? Right across the wrap at 2^32, while they are less than 2^31 apart.
[[nodiscard]] ATTUNE_BOTH constexpr bool reached(Epoch seen, Epoch expected) {
  return static_cast<std::int32_t>(seen - expected) >= 0;
}

}  // namespace attune
