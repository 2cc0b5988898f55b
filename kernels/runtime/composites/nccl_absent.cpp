/// The vendor of a cuda build without NCCL: none, and that is the reason.
#include "core/error.h"
#include "runtime/cuda_backend.h"
#include "runtime/cuda_vendor.h"
#include "runtime/symmetric_memory.h"
#include "runtime/vendor_log.h"

namespace attune::cuda {

namespace {
class NoVendor final : public Vendor {
 public:
  [[nodiscard]] const std::string& why_not() const override { return reason_; }
  [[nodiscard]] std::string why_not(std::string_view /*variant*/) const override { return reason_; }
  void allreduce(const AllreduceCall& /*call*/, const std::string& /*variant*/) override { refuse(); }
  void fused(const NormCall& /*call*/) override { refuse(); }

 private:
  [[noreturn]] void refuse() const { throw Error(Status::unsupported, "no vendor: " + reason_, "use another variant"); }
  std::string reason_ = "this build has no NCCL";
};
}  // namespace

std::string vendor_version() { return {}; }
std::unique_ptr<Vendor> make_vendor(CudaTeam& /*team*/) { return std::make_unique<NoVendor>(); }

std::string why_no_symmetric_memory() { return "this build has no NCCL"; }
std::shared_ptr<std::byte> symmetric_memory(Bytes /*bytes*/) {
  throw Error(Status::unsupported, std::string("no symmetric memory: ") + "this build has no NCCL",
              "use the variant vendor");
}

struct VendorLog::State {
  std::string missing = "this build has no NCCL";
};
VendorLog::VendorLog() : state_(std::make_unique<State>()) {}
VendorLog::~VendorLog() = default;
const std::string& VendorLog::why_not() const { return state_->missing; }
std::string VendorLog::text() const { return {}; }

}  // namespace attune::cuda
