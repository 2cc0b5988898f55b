#include "runtime/cuda_backend.h"

#include <fmt/format.h>

#include <cstdlib>

#include "runtime/composites/cuda_naive.h"
#include "runtime/cuda_device.h"
#include "runtime/cuda_team.h"
#include "runtime/cuda_vendor.h"
#include "variants/registry.h"

namespace attune::cuda {

namespace {
void run_after_default_stream(const Place& place) {
  check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "cudaStreamSynchronize", place);
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::unique_ptr<Bootstrap> bootstrap, const BackendOptions& options)
      : team_(std::move(bootstrap), {options.timeout_s, options.scratch_bytes, options.gpu, options.register_captured}),
        vendor_(make_vendor(team_)) {
    if (!options.log || team_.rank() != 0) return;
    options.log(team_.why_no_peers().empty() ? "peer access: every rank reaches every other"
                                             : "no peer access: " + team_.why_no_peers());
    options.log(vendor_->why_not().empty() ? "vendor: " + vendor_version() : "no vendor: " + vendor_->why_not());
    options.log(team_.why_no_multimem().empty() ? "multimem: on" : "multimem: off: " + team_.why_no_multimem());
  }

  [[nodiscard]] DeviceKind device() const override { return DeviceKind::cuda; }
  [[nodiscard]] int rank() const override { return team_.rank(); }
  [[nodiscard]] int size() const override { return team_.size(); }
  [[nodiscard]] bool oversubscribed() const override { return team_.one_device() && team_.size() > 1; }
  [[nodiscard]] std::byte* allocate(Bytes bytes) override { return team_.allocate(bytes); }
  void release(std::byte* memory) override { team_.release(memory); }
  [[nodiscard]] bool registered(const void* memory, Bytes bytes) const override {
    return team_.segments().find(memory, bytes).word != 0;
  }
  void register_buffer(void* memory, Bytes bytes) override {
    team_.register_buffer(static_cast<std::byte*>(memory), bytes);
  }
  void deregister_buffer(void* memory) override { team_.release(static_cast<std::byte*>(memory)); }

  [[nodiscard]] std::string why_not(std::string_view name) const override {
    const VariantInfo& info = variant(name);
    if (info.name == "vendor") return name == "vendor" ? vendor_->why_not() : vendor_->why_not(name);
    if (info.name == "naive") return {};
    if (info.traits.needs == Needs::many_nodes) return "needs more than one node";
    if (info.traits.needs == Needs::domains) return "is for ranks on CPUs: GPUs of one team reach each other alike";
    if (info.traits.needs == Needs::multimem) return team_.why_no_multimem();
    return team_.why_no_peers().empty() ? "" : "no peer access: " + team_.why_no_peers();
  }

  void run(std::size_t index, const AllreduceCall& call, const Plan& plan) override {
    if (call.caller != nullptr)
      throw Error(Status::unsupported, "epilogues of your own are compiled for host", "use a prebuilt one on cuda");
    check(call);
    const Bytes bytes = call.count * size_of(call.dtype);
    if (bytes > 0) {
      require_device(call.in, bytes, "the input");
      require_device(call.out, bytes, "the output");
      require_device(call.epilogue.operand, 1, "the epilogue's operand");
    }
    on_stream(call.stream, [&] {
      if (!variant_table[index].composite) return team_.allreduce(index, plan, call);
      if (variant_table[index].name == "naive") return naive_.allreduce(team_, call);
      vendor_->allreduce(call, plan.variant);
    });
  }

  void run(const NormCall& call, const Plan& plan) override {
    const bool vendor = variant(plan.variant).name == "vendor";
    if (!vendor && plan.variant != name_of(call.collective))
      throw Error(Status::usage, fmt::format("'{}' is no variant of {}", plan.variant, name_of(call.collective)),
                  fmt::format("use {} or vendor", name_of(call.collective)));
    check(call, rank(), size());
    const Bytes bytes = call.rows * call.cols * size_of(call.dtype);
    if (bytes > 0) {
      require_device(call.in, bytes, "the input");
      require_device(call.sum, 1, "the sum");
      require_device(call.normalised, 1, "the normalised output");
      require_device(call.residual, 1, "the residual");
      require_device(call.norm.gamma, 1, "gamma");
    }
    on_stream(call.stream, [&] { vendor ? vendor_->fused(call) : team_.fused(plan, call); });
  }

  [[nodiscard]] bool capturing(void* stream) const override {
    return stream != nullptr && capture_of(static_cast<cudaStream_t>(stream), team_.place()) != 0;
  }
  void complete_capture() override { team_.complete_capture(); }
  void synchronize(void* stream) override { team_.wait(team_.stream_of(stream)); }

  void copy(void* to, const void* from, Bytes bytes) override {
    if (bytes == 0) return;
    const DeviceGuard guard(team_.place());
    const cudaStream_t stream = team_.stream_of(nullptr);
    ends_with_errors([&] {
      check_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
                 "cudaMemcpyAsync", team_.place());
    });
    team_.wait(stream);
  }

 private:
  /// A kernel that is given memory of the host ends every later call of the process: found here, it is an Error(usage).
  void require_device(const void* memory, Bytes bytes, const char* what) const {
    if (memory != nullptr && !registered(memory, bytes)) require_device_memory(memory, what, team_.place());
  }

  /// What CUDA or the vendor refuses one rank, it has not refused its peers: they are in a call that this rank is not.
  template <class F>
  void ends_with_errors(F&& step) {
    try {
      step();
    } catch (const Error& error) {
      if (error.status() == Status::device || error.status() == Status::vendor) team_.lose();
      throw;
    }
  }

  /// Without a stream a call blocks: it begins behind the default stream's work, and ends with the result.
  template <class F>
  void on_stream(void* stream, F&& enqueue) {
    if (stream != nullptr) return ends_with_errors(enqueue);
    ends_with_errors([&] {
      const DeviceGuard guard(team_.place());
      run_after_default_stream(team_.place());
      enqueue();
    });
    team_.wait(team_.stream_of(nullptr));
  }

  CudaTeam team_;
  std::unique_ptr<Vendor> vendor_;
  Naive naive_;
};
}  // namespace

std::unique_ptr<Backend> make_backend(std::unique_ptr<Bootstrap> bootstrap, const BackendOptions& options) {
  return std::make_unique<CudaBackend>(std::move(bootstrap), options);
}

/// Read by CUDA when its first context is made: with fewer connections than streams, one rank's kernel would stand
/// behind another's that waits for it.
void prepare_local_team() {
  require_device();
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

}  // namespace attune::cuda
