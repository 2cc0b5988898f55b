#pragma once
/// The vendor on cuda: NCCL. The baseline that every table is measured against, a candidate in it, and what results are
/// compared with.
#include <map>
#include <string>
#include <string_view>

#include "runtime/composites/nccl_library.h"
#include "runtime/cuda_vendor.h"

namespace attune::cuda {

/// `vendor`, or one of NCCL's own choices: vendor:nccl/ALGORITHM[/PROTOCOL[/CTAS]], as NCCL_ALGO and NCCL_PROTO name
/// them in lower case: vendor:nccl/ring/ll128/16. Or vendor:nccl/symmetric: its kernels for windows
/// (symmetric_memory.h).
struct NcclChoice {
  std::string algorithm{};
  std::string protocol{};
  int ctas = 0;  ///< 0: NCCL's own.
  bool symmetric = false;
};
/// Throws Error(usage) that lists what is known.
[[nodiscard]] NcclChoice parse_nccl_choice(std::string_view variant);

class NcclVendor final : public Vendor {
 public:
  /// Collective. Never throws what only NCCL lacks: then why_not() says it, the same on all ranks.
  explicit NcclVendor(CudaTeam& team);
  ~NcclVendor() override;
  NcclVendor(const NcclVendor&) = delete;
  NcclVendor& operator=(const NcclVendor&) = delete;

  [[nodiscard]] const std::string& why_not() const override { return why_not_; }
  [[nodiscard]] std::string why_not(std::string_view variant) const override;

  /// ncclAllReduce on the call's stream; an epilogue is a kernel behind it. `variant`: see NcclChoice; a communicator
  /// of its own is made at the first use (collective; not within a capture; a call of 0 elements will do). Throws
  /// Error(vendor), and Error(unsupported) for what NCCL refuses.
  void allreduce(const AllreduceCall& call, const std::string& variant) override;
  /// The baseline of the fused kernels: NCCL's reduction (uneven shards as grouped reductions), then the norm alone.
  void fused(const NormCall& call) override;

 private:
  [[nodiscard]] ncclComm_t make(const NcclChoice& choice, std::string& fault, bool& refused);
  [[nodiscard]] ncclComm_t communicator(const std::string& variant, void* stream);

  CudaTeam& team_;
  std::string why_not_;
  std::string why_no_windows_;                  ///< Equal on all ranks, too.
  std::map<std::string, ncclComm_t> made_;      ///< By variant.
  std::map<std::string, std::string> refused_;  ///< By variant: why NCCL has no such communicator here.
};

}  // namespace attune::cuda
