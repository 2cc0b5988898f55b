#pragma once
/// attune's C++ interface: an allreduce that picks its algorithm, blocks and chunks from a dispatch table that was
/// tuned for this hardware.
///
///   attune::Communicator comm(MPI_COMM_WORLD, {.table = "table.json"});
///   auto in = comm.allocate<float>(n), out = comm.allocate<float>(n);   // peers can address it: no staging copy
///   comm.allreduce(in.data(), out.data(), n, attune::Op::sum);          // the table picks
///
/// Every call marked Collective is made by all ranks, in the same order, with the same arguments except for
/// pointers. Errors are attune::Error: one line that says what, where and what to do.
#include <mpi.h>

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/floats.h"
#include "core/plan.h"
#include "core/types.h"
#include "dispatch/dispatcher.h"
#include "runtime/bootstrap.h"
#include "runtime/call.h"
#include "runtime/norm_call.h"
#include "runtime/stores.h"

namespace attune {

struct Options {
  DeviceKind device = DeviceKind::host;  ///< cuda: a GPU per rank, buffers in device memory.
  std::string table =
      {};  ///< Path of a dispatch table; "none" = the built-in default; empty = ATTUNE_TABLE, then the folders.
  bool strict = false;                       ///< A table of other hardware is an error instead of a warning.
  Numerics numerics = Numerics::rank_order;  ///< The loosest class that the table may use.
  double timeout_s = -1;                  ///< Limit of every wait; 0 = none; negative = ATTUNE_TIMEOUT_S, default 30.
  Bytes scratch_bytes = Bytes{16} << 20;  ///< Shared scratch per rank and region; longer messages go in pieces.
  Stores stores = Stores::tried;          ///< host: how ranks store what their peers will read.
  std::uint32_t first_epoch = 0;          ///< Where flags begin to count. For tests of the wrap at 2^32.
  std::vector<int> domains = {};          ///< host: every rank's (socket, say); empty = ATTUNE_DOMAINS, the machine's.
  int gpu = -1;                           ///< cuda: this device; -1 = the one of the rank's number on its node.
  bool register_captured = true;          ///< cuda: see complete_capture; false: such buffers are staged.
  std::function<void(const std::string& line)> log = {};  ///< Where ATTUNE_LOG's lines go; empty = standard error.
};

template <class T>
class Buffer;

/// A team of up to 8 ranks on one node and everything a launch needs. One call at a time: a call from a second
/// thread while one is under way throws Error(usage).
class Communicator {
 public:
  /// Collective. Throws Error(unsupported) when the ranks are on several nodes or more than 8, Error(device) when
  /// shared memory cannot be had, Error(usage) for a bad table or settings that differ between ranks.
  explicit Communicator(MPI_Comm comm, const Options& options = {});
  /// The same over ranks that are threads of this process (make_local_bootstraps). There is no vendor then.
  explicit Communicator(std::unique_ptr<Bootstrap> bootstrap, const Options& options = {});
  ~Communicator();
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;

  /// `count` elements that peers can address, zeroed and 4096-byte aligned. Collective, and so is their release.
  template <class T>
  [[nodiscard]] Buffer<T> allocate(Index count);
  [[nodiscard]] void* allocate_bytes(Bytes bytes);
  void release(void* memory);
  /// Does this span lie in memory from allocate?
  [[nodiscard]] bool registered(const void* memory, Bytes bytes) const;

  /// The caller's own device memory, made addressable for peers, wherever it lies in its allocation; it must be
  /// deregistered before it is freed. Collective. Throws Error(unsupported) on all ranks for memory that cannot be
  /// shared between processes (of a virtual-memory pool), and on host.
  void register_buffer(void* memory, Bytes bytes);
  void deregister_buffer(void* memory);

  [[nodiscard]] DeviceKind device() const;
  /// cuda: waits for the calls on a stream (null: this communicator's own) and throws what went wrong in them:
  /// Error(timeout) names variant, block, rank, peer and epochs. Nothing to do on host.
  void synchronize(void* stream = nullptr);
  /// cuda: calls that were captured in a graph with buffers that peers cannot address yet work once all ranks have
  /// been here, after the capture and before the first launch of the graph. Collective. The buffers must live as long
  /// as the graph; its launches are ordered with other calls by their stream alone. Nothing to do on host.
  void complete_capture();
  /// A blocking copy between any two of host and device memory.
  void copy(void* to, const void* from, Bytes bytes);

  /// out = op over all ranks' in, element by element, on every rank. `in == out` is allowed. Blocking: on return the
  /// result is complete and the input may be overwritten (on cuda: unless the call names a stream). Whether both
  /// buffers are registered, and whether `in == out`, must be the same on all ranks: the table picks by both.
  /// Collective. Throws Error(usage) for misuse and for ranks in different calls, Error(timeout) when a peer does not
  /// come, Error(vendor) from the vendor.
  void allreduce(const void* in, void* out, Index count, DType dtype, Op op, const EpilogueSpec& epilogue = {});
  /// The same with a plan by hand; Error(usage) when the plan is not possible here.
  void allreduce(const void* in, void* out, Index count, DType dtype, Op op, const Plan& plan,
                 const EpilogueSpec& epilogue = {});
  template <class T>
  void allreduce(const T* in, T* out, Index count, Op op, const EpilogueSpec& epilogue = {}) {
    allreduce(in, out, count, dtype_of<T>, op, epilogue);
  }
  /// cuda: the same, enqueued on a stream (a cudaStream_t); returns before it is done. May be captured in a graph.
  template <class T>
  void allreduce_on(void* stream, const T* in, T* out, Index count, Op op, const EpilogueSpec& epilogue = {}) {
    allreduce({in, out, count, dtype_of<T>, op, epilogue, nullptr, stream});
  }
  /// The same with the call as data. For an epilogue of your own: attune/epilogue.hpp.
  void allreduce(const AllreduceCall& call);
  void allreduce(const AllreduceCall& call, const Plan& plan);

  /// Reduce-scatter by rows and RMSNorm in one kernel. `in`: [rows, cols] on every rank; `sum` (the residual stream)
  /// and `normalised`: [my_rows(rows).count, cols], which must not overlap `in`. T is float, f16 or bf16. Only `in` is
  /// read by peers; whether it is registered must be the same on all ranks. Collective. Throws as allreduce does, and
  /// Error(unsupported) when unregistered rows are too long for the scratch.
  template <class T>
  void reduce_scatter_rms_norm(const T* in, T* sum, T* normalised, Index rows, Index cols, const RmsNormSpec& norm) {
    fused({Collective::reduce_scatter_rms_norm, in, nullptr, sum, normalised, rows, cols, dtype_of<T>, norm});
  }
  /// Allreduce, then the residual (null, or the same on all ranks) added, then RMSNorm: everything [rows, cols] on
  /// every rank. `sum` may be `in` (then on all ranks) or `residual`; bit for bit the three steps one after the other.
  template <class T>
  void allreduce_rms_norm(const T* in, const T* residual, T* sum, T* normalised, Index rows, Index cols,
                          const RmsNormSpec& norm) {
    fused({Collective::allreduce_rms_norm, in, residual, sum, normalised, rows, cols, dtype_of<T>, norm});
  }
  /// The same with the call as data, and with a plan by hand: the variant is the collective's name, or `vendor` (its
  /// reduction, then the norm alone).
  void fused(const NormCall& call);
  void fused(const NormCall& call, const Plan& plan);
  /// The rows that this rank owns in such a call: a contiguous run, the first `rows mod size()` ranks own one more.
  [[nodiscard]] Span my_rows(Index rows) const { return rows_of(rows, rank(), size()); }

  /// What such a call asks for, as tables see it.
  [[nodiscard]] Problem problem_of(const AllreduceCall& call) const;
  [[nodiscard]] Problem problem_of(const NormCall& call) const;
  /// What the table picks for a problem of this communicator. Valid as long as the communicator.
  [[nodiscard]] Answer find(const Problem& problem) const;
  /// The plan that a call takes: find's, unless this node cannot run it (no peer access, say): then the vendor's or the
  /// slow path's.
  [[nodiscard]] Plan plan_for(const Problem& problem) const;
  /// Where the table came from ("" = built-in), and what its user should know (hardware that differs), or "".
  [[nodiscard]] const std::string& table_path() const;
  [[nodiscard]] const std::string& table_warning() const;
  /// Is this variant possible here? Empty, or the reason why not.
  [[nodiscard]] std::string why_not(std::string_view variant) const;
  /// More ranks than cores: timings mean little.
  [[nodiscard]] bool oversubscribed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Memory that peers can address, released with the object. Make and destroy it on all ranks in the same order.
template <class T>
class Buffer {
 public:
  Buffer(Communicator& comm, Index count)
      : comm_(&comm),
        data_(static_cast<T*>(comm.allocate_bytes(count * static_cast<Bytes>(sizeof(T))))),
        count_(count) {}
  ~Buffer() {
    try {
      if (data_ != nullptr) comm_->release(data_);
    } catch (const std::exception&) {  // a rank has failed: its own error tells, and the memory stays where it is
    }
  }
  Buffer(Buffer&& other) noexcept
      : comm_(other.comm_), data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
  Buffer& operator=(Buffer&&) = delete;

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] Index size() const { return count_; }
  [[nodiscard]] T& operator[](Index i) { return data_[i]; }
  [[nodiscard]] std::span<T> span() { return {data_, static_cast<std::size_t>(count_)}; }

 private:
  Communicator* comm_;
  T* data_;
  Index count_;
};

template <class T>
Buffer<T> Communicator::allocate(Index count) {
  return Buffer<T>(*this, count);
}

/// Runs f(communicator) on n ranks that are threads of this process, and returns when all are done. The first
/// exception is thrown. For tests, sanitizers and programs without MPI.
void run_local_team(int n, const Options& options, const std::function<void(Communicator&)>& f);

}  // namespace attune
