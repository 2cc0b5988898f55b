/// The host device behind the public API: its team, the MPI as vendor, and the slow path.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cstring>

#include "core/error.h"
#include "runtime/available.h"
#include "runtime/backend.h"
#include "runtime/composites/mpi_vendor.h"
#include "runtime/composites/naive.h"
#include "runtime/host_team.h"
#include "runtime/mpi_bootstrap.h"
#include "variants/registry.h"

namespace attune {

std::size_t allreduce_index(std::string_view name) {
  const VariantInfo& info = variant(name);
  if (info.traits.family == Family::fused)
    throw Error(Status::usage, fmt::format("'{}' is no variant of allreduce", name), "use one of `attune cost`'s");
  return static_cast<std::size_t>(&info - variant_table.data());
}

namespace host {
namespace {

/// Drives MPI while a rank waits: a peer may be blocked in a send to us before it can enter our call.
void drive_mpi(void* context) {
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, static_cast<MpiBootstrap*>(context)->comm(), &flag, MPI_STATUS_IGNORE);
}

TeamOptions team_options(const BackendOptions& options) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  TeamOptions team;
  team.timeout_s = options.timeout_s;
  team.scratch_bytes = options.scratch_bytes;
  team.near = options.domains.count > 1 ? options.domains.near : 0;
  team.stores = options.stores;
  team.first_epoch = options.first_epoch;
  team.node_cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  team.rank_cores = ::sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : team.node_cores;
  if (options.mpi != nullptr) {
    team.progress = drive_mpi;
    team.progress_context = options.mpi;
  }
  return team;
}

class HostBackend final : public Backend {
 public:
  HostBackend(std::unique_ptr<Bootstrap> bootstrap, const BackendOptions& options)
      : vendor_(options.mpi != nullptr ? std::make_unique<MpiVendor>(options.mpi->comm()) : nullptr),
        domains_(options.domains),
        team_(std::move(bootstrap), team_options(options)) {}

  [[nodiscard]] DeviceKind device() const override { return DeviceKind::host; }
  [[nodiscard]] int rank() const override { return team_.rank(); }
  [[nodiscard]] int size() const override { return team_.size(); }
  [[nodiscard]] bool oversubscribed() const override { return team_.oversubscribed(1); }
  [[nodiscard]] std::byte* allocate(Bytes bytes) override { return team_.allocate(bytes); }
  void release(std::byte* memory) override { team_.release(memory); }
  [[nodiscard]] bool registered(const void* memory, Bytes bytes) const override {
    return team_.registered(memory, bytes);
  }
  void register_buffer(void* /*memory*/, Bytes /*bytes*/) override { refuse_registration(); }
  void deregister_buffer(void* /*memory*/) override { refuse_registration(); }

  [[nodiscard]] std::string why_not(std::string_view name) const override {
    const auto& info = variant(name);
    if (info.name == "vendor" && vendor_ == nullptr) return "a team of threads has no vendor";
    if (name.starts_with("vendor:")) {
      (void)parse_vendor_choice(name);
      return why_no_vendor_choices();
    }
    return host::why_not(info, domains_);
  }

  void run(std::size_t index, const AllreduceCall& call, const Plan& plan) override {
    if (const std::string reason = host::why_not(variant_table[index], domains_); !reason.empty())
      throw Error(Status::unsupported, plan.variant + " cannot run here: " + reason, "choose another variant");
    if (!variant_table[index].composite) return team_.allreduce(index, plan, call);
    if (variant_table[index].name == "naive") return naive_allreduce(team_, call);
    require_vendor();
    vendor_->allreduce(team_, call, plan.variant);
  }

  void run(const NormCall& call, const Plan& plan) override {
    if (plan.variant == name_of(call.collective)) return team_.fused(plan, call);
    if (variant(plan.variant).name != "vendor")
      throw Error(Status::usage, fmt::format("'{}' is no variant of {}", plan.variant, name_of(call.collective)),
                  fmt::format("use {} or vendor", name_of(call.collective)));
    require_vendor();
    vendor_->fused(team_, call);
  }

  [[nodiscard]] std::unique_ptr<PreparedCall> prepare(std::size_t index, const AllreduceCall& call,
                                                      const Plan& plan) override {
    const bool in_vocabulary = !variant_table[index].composite && host::why_not(variant_table[index], domains_).empty();
    return in_vocabulary ? team_.prepare(index, plan, call) : nullptr;
  }

  void copy(void* to, const void* from, Bytes bytes) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

 private:
  void require_vendor() const {
    if (vendor_ == nullptr)
      throw Error(Status::unsupported, "a team of threads has no vendor",
                  "use another variant, or a communicator made from an MPI_Comm");
  }
  [[noreturn]] static void refuse_registration() {
    throw Error(Status::unsupported, "register_buffer: on host, memory of one process cannot be mapped by another",
                "use memory from allocate, or any memory, which is then staged");
  }

  std::unique_ptr<MpiVendor> vendor_;
  Domains domains_;
  HostTeam team_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(std::unique_ptr<Bootstrap> bootstrap, const BackendOptions& options) {
  return std::make_unique<HostBackend>(std::move(bootstrap), options);
}

}  // namespace host
}  // namespace attune
