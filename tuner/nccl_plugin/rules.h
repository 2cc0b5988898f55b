#pragma once
/// What a dispatch table says to NCCL for one communicator.
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/find.h"
#include "tuner/exports/choices.h"

namespace attune::nccl_plugin {

using tuner::exports::NcclChoice;

struct Rules {
  std::string path{};  ///< The table; empty: none was found.
  /// By size, for staged and registered buffers; empty: NCCL decides.
  std::array<std::vector<tuner::exports::Range<NcclChoice>>, 2> ranges{};
  std::vector<std::string> notes{};

  /// Nothing: NCCL decides. `bytes` may be anything.
  [[nodiscard]] std::optional<NcclChoice> at(std::size_t bytes, bool registered) const;
};

/// The rules for `ranks` GPUs of one node (tables are of one node: none for more). The table is the one that
/// ATTUNE_TABLE names, else the first one in the table folders that was measured on GPUs of the model `gpu`. Buffers
/// of a kind that the table lacks get the other kind's rules. Throws Error(usage) if a table that was named cannot be
/// read; tables in folders that cannot be are passed over with a note.
[[nodiscard]] Rules rules_for(std::size_t ranks, std::size_t nodes, const Environment& environment,
                              const std::string& prefix, const std::string& gpu);

/// The model of this node's first GPU, as the driver's files say it; empty without one.
[[nodiscard]] std::string gpu_model(const std::string& folder = "/proc/driver/nvidia/gpus");

}  // namespace attune::nccl_plugin
