#pragma once
/// Allreduce without peer access: inputs travel through pinned host memory and the bootstrap's messages, and every rank
/// reduces for itself on its GPU.
#include "runtime/cuda_team.h"

namespace attune::cuda {

class Naive {
 public:
  /// Collective. Device memory of any alignment. Waits for the data, so that it cannot be captured: Error(unsupported).
  void allreduce(CudaTeam& team, const AllreduceCall& call);

 private:
  static constexpr Bytes step_bytes = Bytes{1} << 20;
  void prepare(CudaTeam& team);
  [[nodiscard]] std::array<std::byte*, max_ranks> gather(CudaTeam& team, const std::byte* from, Bytes bytes,
                                                         cudaStream_t stream);
  PinnedMemory mine_;  ///< Made at the first call.
  PinnedMemory all_;
  DeviceMemory inputs_;
};

}  // namespace attune::cuda
