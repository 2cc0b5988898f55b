#pragma once
/// A team on cuda: one rank's GPU, its view of the peers' memory, and the launching of kernels on it.
///
/// Own memory of a rank, one allocation whose handle the peers open: control block (flags, records, mail), then the
/// regions. Zeroed before it is shared.
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/partition.h"
#include "core/plan.h"
#include "core/traits.h"
#include "runtime/bootstrap.h"
#include "runtime/call.h"
#include "runtime/cuda_launch.h"
#include "runtime/cuda_order.h"
#include "runtime/cuda_probe.h"
#include "runtime/cuda_segments.h"
#include "runtime/norm_call.h"
#include "runtime/shared_segment.h"

namespace attune::cuda {

struct TeamOptions {
  double timeout_s = 30;
  Bytes scratch_bytes = Bytes{16} << 20;
  int gpu = -1;
  bool register_captured = true;
};

class CudaTeam {
 public:
  /// Collective. Throws Error(device) on all ranks when one cannot; without peer access the team is made all the same,
  /// with the reason in why_no_peers().
  CudaTeam(std::unique_ptr<Bootstrap> bootstrap, const TeamOptions& options);
  ~CudaTeam();
  CudaTeam(const CudaTeam&) = delete;
  CudaTeam& operator=(const CudaTeam&) = delete;

  [[nodiscard]] int rank() const { return bootstrap_->rank(); }
  [[nodiscard]] int size() const { return bootstrap_->size(); }
  [[nodiscard]] Bootstrap& bootstrap() { return *bootstrap_; }
  [[nodiscard]] const Place& place() const { return devices_.place; }
  [[nodiscard]] const std::string& why_no_peers() const { return why_no_peers_; }
  [[nodiscard]] const std::string& why_no_multimem() const { return why_no_multimem_; }
  /// A team of streams on one GPU.
  [[nodiscard]] bool one_device() const { return devices_.ranks_per_device > 1; }
  [[nodiscard]] const TeamOptions& options() const { return options_; }
  [[nodiscard]] Segments& segments() { return segments_; }
  [[nodiscard]] const Segments& segments() const { return segments_; }

  /// Device memory that peers can address (any device memory where there is no peer access). Collective.
  [[nodiscard]] std::byte* allocate(Bytes bytes);
  void release(std::byte* memory);
  void register_buffer(std::byte* memory, Bytes bytes);
  void complete_capture();

  /// The stream of a call: the given one, or the team's own.
  [[nodiscard]] cudaStream_t stream_of(void* given) const;
  /// Enqueue a variant in the vocabulary, a fused kernel, the reduction or the norm of local memory. Throw Error(usage)
  /// for misuse, Error(device) when CUDA fails; what goes wrong in the kernels is thrown by the next call or wait.
  void allreduce(std::size_t variant, const Plan& plan, const AllreduceCall& call);
  void fused(const Plan& plan, const NormCall& call);
  void reduce_locally(const std::array<std::byte*, max_ranks>& inputs, int ranks, const AllreduceCall& call,
                      Index base = 0);
  void normalise_locally(const NormCall& call, const void* in, Index rows);

  /// Waits for a stream, and throws what its kernels recorded: Error(timeout) that names variant, block, rank, peer and
  /// epochs.
  void wait(cudaStream_t stream);
  /// Throws the recorded failure, if there is one.
  void check_failure();
  /// How many blocks of a kernel this team can have on the GPU at once, per rank.
  [[nodiscard]] int co_resident(const KernelEntry& kernel, int threads);

  /// This team is of no use any more: a rank has failed alone. Peers are told, nothing collective follows.
  void lose();

  /// Where launches of this team stand in line: every use of a stream is between the two.
  [[nodiscard]] LaunchOrder& order() { return order_; }

 private:
  /// Parts of a rank's own memory behind its control block, each for one message: scratch; where peers push, or an
  /// input is staged for them; where an output is staged for them; and an input that no peer reads.
  enum class Region { scratch, inbox, outputs, input };
  static constexpr int regions = 4;

  /// How far a rank is in leaving, in memory of the host that all ranks see.
  enum class Stage : std::uint32_t { here, failed, drained, unmapped };

  void open_peers();
  [[nodiscard]] std::atomic<Stage>& stage_of(int rank) const;
  [[nodiscard]] bool all_reach(Stage stage, double limit_s) const;
  [[nodiscard]] bool complete() const;  ///< Nobody has failed or left.
  [[nodiscard]] double patience() const { return options_.timeout_s > 0 ? 2 * options_.timeout_s + 10 : 0; }
  void open_switch();
  void preload_kernels();
  [[nodiscard]] std::byte* allocate_in_switch(Bytes bytes);
  [[nodiscard]] std::byte* region(int rank, Region which) const;
  void launch_local(const KernelEntry& kernel, Launch& launch, Bytes bytes, cudaStream_t stream);
  void name_multicast(Launch& launch) const;
  [[nodiscard]] Launch start_launch(const Plan& plan, std::int32_t variant, std::uint64_t digest) const;
  void launch(const KernelEntry& kernel, Launch& launch, cudaStream_t stream);
  void run_piece(std::size_t variant, const Plan& plan, const AllreduceCall& call, Span piece);
  /// Address of a buffer for peers: registered, or reserved within a capture; word 0 = it must be staged.
  [[nodiscard]] SymmetricAddress address_of(const void* memory, Bytes bytes, cudaStream_t stream);
  [[nodiscard]] SymmetricAddress staging(Region which, Bytes offset, std::byte** local) const;
  [[nodiscard]] Index chunk_elements(const Traits& traits, const Plan& plan, DType dtype) const;
  [[nodiscard]] Index piece_elements(std::size_t variant, const AllreduceCall& call) const;
  void require_ready(const Plan& plan);
  void copy(void* to, const void* from, Bytes bytes, cudaStream_t stream);
  void launch_fused(const NormCall& call, Launch& launch);
  void fused_in_place(const Plan& plan, const NormCall& call);
  void fused_staged_scatter(const Plan& plan, const NormCall& call);
  void fused_staged_everywhere(const Plan& plan, const NormCall& call);

  std::unique_ptr<Bootstrap> bootstrap_;
  TeamOptions options_;
  host::SharedSegment stages_;
  Devices devices_;
  std::unique_ptr<OwnStream> stream_;
  LaunchOrder order_;
  DeviceMemory own_;
  DeviceMemory counters_;
  PinnedMemory failure_;
  Segments segments_;
  std::string why_no_peers_;
  std::string why_no_multimem_;
  std::int32_t launches_ = 0;
  bool lost_ = false;
  struct Resident {
    const void* function;
    int threads;
    int blocks;
  };
  std::vector<Resident> resident_;     ///< What fits at once; few entries.
  std::vector<DeviceMemory> private_;  ///< allocate() without peer access.
};

/// The name behind Launch::variant.
[[nodiscard]] std::string name_of_launch(std::int32_t variant);

}  // namespace attune::cuda
