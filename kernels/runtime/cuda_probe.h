#pragma once
/// Which GPU a rank drives, and whether ranks really reach each other's memory: asked of CUDA, then tried.
#include <string>

#include "runtime/bootstrap.h"
#include "runtime/cuda_check.h"
#include "runtime/cuda_segments.h"

namespace attune::cuda {

/// What a team knows of its GPUs, equal on all ranks but for `place`.
struct Devices {
  Place place;
  int multiprocessors = 0;    ///< The least of all ranks.
  int ranks_per_device = 1;   ///< All of them in a local team.
  bool alike = true;          ///< Same architecture and size everywhere.
  std::string unreachable{};  ///< Why CUDA itself says that some rank cannot reach a peer; empty: all can.
};

/// This process' number on its node as the launcher tells, or `fallback`.
[[nodiscard]] int local_rank(int fallback);

/// Chooses this rank's device: `wanted`, or by local rank over the devices that it sees (a launcher that shows each
/// rank its own device leaves no choice). Devices are told apart by UUID, because each process may number them in its
/// own way. Collective. Throws Error(device) on all ranks when one has none, or two processes share one.
[[nodiscard]] Devices choose_devices(Bootstrap& bootstrap, int wanted);

/// Every ordered pair of ranks reads and writes 4 KiB of the other's staging memory with a kernel and compares: what
/// CUDA promises is not always so (virtual machines, IOMMU). Offsets are those of the area in number 0. Collective;
/// empty, or what failed, equal on all ranks. No wait is longer than half a minute.
[[nodiscard]] std::string probe_peers(Bootstrap& bootstrap, const Segments& segments, Bytes offset, const Place& place,
                                      cudaStream_t stream);
inline constexpr Bytes probe_bytes = (max_ranks + 1) * 4096;

/// Waits for a stream, but not for ever. A text when it fails or time is up.
[[nodiscard]] std::string wait_bounded(cudaStream_t stream, double limit_s, const Place& place);

}  // namespace attune::cuda
