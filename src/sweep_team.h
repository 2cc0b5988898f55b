#pragma once
/// The ranks of one rank count and what they share during a sweep: a meeting point, a communicator that can be made
/// anew after one was lost, and buffers for the largest message.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/device_memory.h"
#include "src/gpu_calls.h"
#include "src/measure_meeting.h"
#include "src/sweep_executor.h"

namespace attune::driver {

/// Input and outputs of one rank in one kind of memory, with guard bytes around the outputs.
class MessageBuffers {
 public:
  /// registered and plain: what calls of registered and staged memory work on; symmetric: of the vendor's windows.
  enum class Source { registered, plain, symmetric };
  /// Collective. Room for messages of `capacity` bytes, and `spread` more for rotating them; two outputs where fused
  /// kernels are measured. Throws Error(device) on all ranks when there is no room.
  MessageBuffers(Communicator& comm, Source source, Bytes capacity, Bytes spread, bool fused);
  ~MessageBuffers();
  MessageBuffers(const MessageBuffers&) = delete;
  MessageBuffers& operator=(const MessageBuffers&) = delete;

  [[nodiscard]] Bytes capacity() const { return capacity_; }
  /// What a rank's buffers take, for messages of any length.
  [[nodiscard]] static double bytes_for(double capacity, Bytes spread, bool fused);
  /// Where call number `call` of this problem finds its buffers.
  [[nodiscard]] Operands operands(const Problem& problem, int call) const;
  /// The communicator is lost: its memory is left where it is.
  void abandon() { comm_ = nullptr; }

  static constexpr Bytes guard_bytes = 256;
  /// Around `bytes` of an output, as the host sees it.
  static void write_guards(void* output, Bytes bytes);
  /// Empty, or which byte outside of the output was overwritten.
  [[nodiscard]] static std::string broken_guard(const void* output, Bytes bytes);

 private:
  [[nodiscard]] std::byte* make(Bytes bytes);
  void release();

  Communicator* comm_;
  Source source_;
  Bytes capacity_;
  Bytes spread_;
  DeviceKind device_;
  std::vector<std::shared_ptr<std::byte>> own_;  ///< What is not the communicator's.
  std::byte* in_ = nullptr;
  std::byte* out_ = nullptr;
  std::byte* normalised_ = nullptr;
};

struct TeamRequest {
  double timeout_s = 30;
  Bytes registered_bytes = 0;  ///< Largest message in each kind of memory; 0 = none.
  Bytes staged_bytes = 0;
  Bytes symmetric_bytes = 0;     ///< For the vendor's choice that works on windows (runtime/symmetric_memory.h).
  std::vector<Bytes> smaller{};  ///< Ascending: where the largest does not fit, the largest of these that does.
  bool or_nothing = false;       ///< What does not fit is an Error(device).
  Bytes spread = 0;              ///< Extra room, so that successive calls find cold buffers.
  bool fused = false;            ///< A second output, for the fused kernels.
};

class SweepTeam {
 public:
  using MakeCommunicator = std::function<std::unique_ptr<Communicator>(double timeout_s)>;

  /// How long ranks wait for each other.
  [[nodiscard]] double patience_s() const { return patience_of(request_.timeout_s); }

  /// Collective over the team's ranks.
  SweepTeam(std::unique_ptr<Bootstrap> bootstrap, MakeCommunicator make, const TeamRequest& request);
  ~SweepTeam();
  SweepTeam(const SweepTeam&) = delete;
  SweepTeam& operator=(const SweepTeam&) = delete;

  [[nodiscard]] int rank() const { return meeting_->rank(); }
  [[nodiscard]] int size() const { return meeting_->size(); }
  [[nodiscard]] Meeting& meeting() { return *meeting_; }
  [[nodiscard]] Communicator& comm() { return *comm_; }
  /// Do blocks × ranks outnumber the cores?
  [[nodiscard]] bool oversubscribed(int blocks) const {
    return on_gpus() ? comm_->oversubscribed() : size() * blocks > cores_;
  }
  [[nodiscard]] bool on_gpus() const { return comm_->device() == DeviceKind::cuda; }
  [[nodiscard]] GpuCalls& gpu() { return *gpu_; }  ///< Only when on_gpus().

  /// Empty, or why messages of this size do not fit into memory of this kind here.
  [[nodiscard]] std::string no_room(const Problem& problem, const Plan& plan) const;
  [[nodiscard]] Operands operands(const Problem& problem, const Plan& plan, int call);
  /// The epilogue with its operand where calls can read it, until the next call of this.
  [[nodiscard]] EpilogueSpec for_device(EpilogueSpec epilogue, const Problem& problem);
  /// The weights of fused kernels as the host reads them.
  [[nodiscard]] const void* gamma() const { return gamma_.data(); }

  /// Collective: after an error that the old communicator does not survive. What it held is given up, not freed:
  /// a peer may still be inside.
  void replace_communicator();
  [[nodiscard]] int replaced() const { return replaced_; }

 private:
  void open();
  [[nodiscard]] std::unique_ptr<MessageBuffers> fitting(MessageBuffers::Source source, Bytes wanted);
  [[nodiscard]] std::string beyond_node(MessageBuffers::Source source, Bytes capacity) const;
  [[nodiscard]] MessageBuffers* buffers_for(const Problem& problem, const Plan& plan) const;
  void compare_notes(const std::string& refused);

  std::unique_ptr<Bootstrap> bootstrap_;
  MakeCommunicator make_;
  TeamRequest request_;
  int cores_ = 1;
  int replaced_ = 0;
  std::unique_ptr<Meeting> meeting_;
  std::unique_ptr<Communicator> comm_;
  std::unique_ptr<MessageBuffers> registered_;
  std::unique_ptr<MessageBuffers> staged_;
  std::unique_ptr<MessageBuffers> symmetric_;
  std::unique_ptr<GpuCalls> gpu_;
  std::shared_ptr<std::byte> operand_;  ///< cuda: copies of the host's operand
  Bytes operand_room_ = 0;
  std::shared_ptr<std::byte> device_gamma_;  ///< and weights.
  std::vector<std::byte> gamma_;             ///< Weights of the fused kernels, made for
  Problem gamma_for_{};                      ///< this problem.
  std::string why_small_;                    ///< Why the buffers are smaller than asked for.
};

}  // namespace attune::driver
