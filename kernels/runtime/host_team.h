#pragma once
/// A team on host: ranks that share memory, and the launching of kernels on it.
#include <memory>
#include <vector>

#include "core/partition.h"
#include "core/plan.h"
#include "core/traits.h"
#include "device/host_launch.h"
#include "device/rms_norm.h"
#include "runtime/bootstrap.h"
#include "runtime/call.h"
#include "runtime/host_call.h"
#include "runtime/norm_call.h"
#include "runtime/shared_segment.h"
#include "runtime/stores.h"
#include "runtime/workers.h"

namespace attune::host {

struct TeamOptions {
  double timeout_s = 30;                  ///< Limit of every wait; 0 = none.
  Bytes scratch_bytes = Bytes{16} << 20;  ///< Per rank and region; longer messages go in pieces.
  int node_cores = 1;                     ///< Cores of the node,
  int rank_cores = 1;                     ///< and those that this rank may run on.
  int near = 0;                           ///< Ranks of a domain, consecutive ones; 0 = all.
  Stores stores = Stores::tried;          ///< Of what peers will read, and the launch does not stream.
  Epoch first_epoch = 0;                  ///< Where flags begin to count; tests start near the wrap at 2^32.
  void (*progress)(void*) = nullptr;      ///< Called now and then while rank's caller thread waits.
  void* progress_context = nullptr;
};

class HostTeam {
 public:
  /// Collective. Throws Error(device) on all ranks when shared memory cannot be had.
  HostTeam(std::unique_ptr<Bootstrap> bootstrap, const TeamOptions& options);
  ~HostTeam();
  HostTeam(const HostTeam&) = delete;
  HostTeam& operator=(const HostTeam&) = delete;

  [[nodiscard]] int rank() const { return bootstrap_->rank(); }
  [[nodiscard]] int size() const { return bootstrap_->size(); }
  /// Do `blocks` on every rank outnumber the cores? Waiting then yields at once instead of spinning.
  [[nodiscard]] bool oversubscribed(int blocks) const {
    return size() * blocks > options_.node_cores || blocks > options_.rank_cores;
  }
  [[nodiscard]] Bootstrap& bootstrap() { return *bootstrap_; }

  /// Memory that peers can address, 4096-byte aligned, zeroed. Collective; every rank may ask for another size.
  [[nodiscard]] std::byte* allocate(Bytes bytes);
  /// Collective, with the pointer that this rank got from the same allocate.
  void release(std::byte* memory);
  /// Does this span lie in memory from allocate()?
  [[nodiscard]] bool registered(const void* memory, Bytes bytes) const;

  /// Runs a variant in the vocabulary (index in variant_table). Collective; one call at a time. Throws Error(usage)
  /// for misuse, Error(timeout) and Error(internal) when a peer does not come; after those the team is lost.
  void allreduce(std::size_t variant, const Plan& plan, const AllreduceCall& call);

  /// The same call, to be made again and again: null where it takes more than one launch, or none. Valid until memory
  /// is allocated or released.
  [[nodiscard]] std::unique_ptr<HostCall> prepare(std::size_t variant, const Plan& plan, const AllreduceCall& call);
  /// What HostCall::run does.
  void run(HostCall& call);

  /// op over `inputs` (memory of this process, in rank order), then epilogue, to call.out. No peers involved. `base`
  /// is the position of element 0 in the whole message, for epilogues.
  void reduce_locally(const std::array<std::byte*, max_ranks>& inputs, int ranks, const AllreduceCall& call,
                      Index base = 0);

  /// Runs a fused kernel. As allreduce; whether all buffers are registered must be the same on all ranks. Throws
  /// Error(unsupported) when staged rows are too long for the scratch.
  void fused(const Plan& plan, const NormCall& call);

  /// sum = in (+ residual), then the norm, of `rows` rows of this process. No peers involved.
  void normalise_locally(const NormCall& call, const void* in, Index rows);

  /// Launches `kernel` on `blocks` blocks with a record of this team filled in; `launch` brings the rest. Collective.
  void launch(Kernel kernel, Launch& launch);

 private:
  /// Parts of a rank's memory behind its control block, each for one message: scratch, then where a rank stages an
  /// input or peers push (never both in one launch), then staged outputs.
  enum class Region { scratch, inbox, outputs };
  struct OwnRange {
    const std::byte* begin;
    const std::byte* end;
    std::size_t segment;
  };

  /// Elements of the pieces in which a message goes; `count` for all at once.
  [[nodiscard]] Index piece_elements(const Traits& traits, const AllreduceCall& call) const;
  void describe(HostCall& prepared, std::size_t variant, const Plan& plan, const AllreduceCall& call, Span piece);
  void fused_registered(const Plan& plan, const NormCall& call);
  void fused_staged_scatter(const Plan& plan, const NormCall& call);
  void fused_staged_everywhere(const Plan& plan, const NormCall& call);
  void complete(Launch& launch);  ///< What every launch of this team has in common.
  void start(Kernel kernel, Launch& launch);
  void launch_fused(const NormCall& call, RowArguments& arguments, Launch& launch);
  [[nodiscard]] SymmetricAddress staging(Region which, Bytes offset, std::byte** local) const;
  [[nodiscard]] SymmetricAddress address_of(const void* memory, Bytes bytes) const;
  [[nodiscard]] StoreTrial& trial_of(std::size_t variant, Bytes bytes, bool in_place);
  [[nodiscard]] bool beyond_cache(Bytes bytes) const;
  [[nodiscard]] bool worth_a_trial(Bytes bytes) const;
  [[nodiscard]] std::byte* region(int rank, Region which) const;
  [[nodiscard]] std::atomic<std::uint32_t>& state_of(int rank) const;  ///< Control::failed.
  [[nodiscard]] Index chunk_elements(const Traits& traits, const Plan& plan, DType dtype) const;

  std::unique_ptr<Bootstrap> bootstrap_;
  TeamOptions options_;
  std::unique_ptr<SharedSegment> own_;                    ///< Control block, scratch, staging for input and output.
  std::vector<std::unique_ptr<SharedSegment>> segments_;  ///< [0] is unused: number 0 is own_.
  std::vector<std::array<std::byte*, max_ranks>> bases_;  ///< [segment][rank], as launches read it.
  std::vector<OwnRange> ranges_;                          ///< My memory in the live segments of allocate().
  std::array<Control*, max_ranks> control_{};             ///< Every rank's control block,
  std::array<std::byte*, max_ranks> scratch_{};           ///< scratch
  std::array<std::byte*, max_ranks> inbox_{};             ///< and inbox.
  std::unique_ptr<Counters> counters_;
  Workers workers_;
  std::vector<std::array<std::array<StoreTrial, 64>, 2>> trials_;  ///< [variant][in place][class of sizes]
  std::uint32_t launches_ = 0;
  std::uint64_t mail_calls_ = 0;
  bool lost_ = false;
};

}  // namespace attune::host
