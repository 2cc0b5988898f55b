#pragma once
/// What the cuda device asks of its vendor's library, which a build or a machine may lack.
#include <memory>
#include <string>
#include <string_view>

#include "runtime/cuda_team.h"

namespace attune::cuda {

class Vendor {
 public:
  Vendor() = default;
  virtual ~Vendor() = default;
  Vendor(const Vendor&) = delete;
  Vendor& operator=(const Vendor&) = delete;

  /// Empty, or why there is none; equal on all ranks.
  [[nodiscard]] virtual const std::string& why_not() const = 0;
  /// The same of one of its choices. Throws Error(usage) for a `vendor:…` that it does not know.
  [[nodiscard]] virtual std::string why_not(std::string_view variant) const = 0;
  /// On the call's stream. Throw Error(vendor), and Error(unsupported) when there is none.
  virtual void allreduce(const AllreduceCall& call, const std::string& variant) = 0;
  virtual void fused(const NormCall& call) = 0;
};

/// Collective. A vendor that cannot be had is one with a reason.
[[nodiscard]] std::unique_ptr<Vendor> make_vendor(CudaTeam& team);

}  // namespace attune::cuda
