#pragma once
/// The vendor on host: MPI_Allreduce of the MPI that the program is linked with. It is the baseline that every table
/// is measured against, and a candidate in it.
#include <mpi.h>

#include <array>

#include "runtime/composites/vendor_choices.h"
#include "runtime/host_team.h"

namespace attune::host {

class MpiVendor {
 public:
  /// Duplicates `comm`. Collective.
  explicit MpiVendor(MPI_Comm comm);
  ~MpiVendor();
  MpiVendor(const MpiVendor&) = delete;
  MpiVendor& operator=(const MpiVendor&) = delete;

  /// MPI_Allreduce; 16- and 8-bit floats, which MPI does not know, travel as opaque types with a user operation that
  /// reduces them with this library's own vector loops, rounding on every hop. `avg` and epilogues are a second pass
  /// over the result (`team` gives the local kernels). Throws Error(vendor).
  /// `variant` is `vendor`, or one of its own choices (vendor_choices.h).
  void allreduce(HostTeam& team, const AllreduceCall& call, const std::string& variant = "vendor");
  /// The baseline of the fused kernels: MPI_Reduce_scatter (or MPI_Allreduce and the residual), then the norm as a
  /// pass of its own. Throws Error(vendor), and Error(unsupported) for shards beyond MPI's int counts.
  void fused(HostTeam& team, const NormCall& call);

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::unique_ptr<ForcedCommunicators> forced_;
};

}  // namespace attune::host
