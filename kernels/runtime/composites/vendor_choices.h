#pragma once
/// The vendor's own choices as candidates: `vendor:openmpi/ring`, `vendor:openmpi/segmented_ring/65536`. Open MPI reads
/// the forced algorithm when a communicator is made, so one process can hold one communicator per algorithm and
/// measure them side by side (writable control variables of MPI_T).
#include <mpi.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace attune::host {

/// One of Open MPI's allreduce algorithms, as its coll/tuned component numbers them.
struct OpenMpiAlgorithm {
  int id;
  std::string_view name;
  bool segmented;               ///< Does a segment size mean anything?
  bool needs_a_count_of_ranks;  ///< Falls back to another algorithm when there are fewer elements than ranks.
};
[[nodiscard]] const std::vector<OpenMpiAlgorithm>& open_mpi_algorithms();

/// What a plan's variant asks of the vendor. Throws Error(usage) for an unknown name, listing the known ones.
struct VendorChoice {
  int algorithm = 0;  ///< 0 = the vendor's own decision.
  Bytes segment = 0;
};
[[nodiscard]] VendorChoice parse_vendor_choice(std::string_view variant);

/// Empty if algorithms can be forced in this process, else why not. MPI is initialised.
[[nodiscard]] std::string why_no_vendor_choices();

/// Communicators with a forced algorithm, made when first asked for.
class ForcedCommunicators {
 public:
  explicit ForcedCommunicators(MPI_Comm comm) : comm_(comm) {}
  ~ForcedCommunicators();
  ForcedCommunicators(const ForcedCommunicators&) = delete;
  ForcedCommunicators& operator=(const ForcedCommunicators&) = delete;

  /// The communicator for `variant` ("vendor:…"). Collective when it is the first time. Throws Error(usage) for an
  /// unknown name, Error(unsupported) when this MPI cannot be told.
  [[nodiscard]] MPI_Comm get(const std::string& variant);

 private:
  MPI_Comm comm_;
  std::map<std::string, MPI_Comm> made_;
};

}  // namespace attune::host
