#include "src/sweep_team.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "dispatch/table.h"
#include "runtime/node_memory.h"
#include "runtime/symmetric_memory.h"
#include "src/validate_norm.h"

namespace attune::driver {

namespace {
constexpr Bytes page = 4096;
constexpr int guard_value = 0xA5;
constexpr Bytes least_message = 64;

constexpr Bytes round_up(Bytes bytes) { return (bytes + page - 1) / page * page; }

/// Cores that all ranks together may use: those of this rank if it was bound, times ranks, never more than there are.
int usable_cores(int ranks) {
  const int node = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  cpu_set_t mine;
  CPU_ZERO(&mine);
  const int own = ::sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : node;
  return std::min(node, own * ranks);
}
}  // namespace

MessageBuffers::MessageBuffers(Communicator& comm, Source source, Bytes capacity, Bytes spread, bool fused)
    : comm_(source == Source::registered ? &comm : nullptr),
      source_(source),
      capacity_(capacity),
      spread_(spread),
      device_(comm.device()) {
  const Bytes bytes = round_up(capacity + guard_bytes) + 2 * page + spread;
  try {
    in_ = make(bytes);
    out_ = make(bytes);
    if (fused) normalised_ = make(bytes);
  } catch (...) {
    release();
    throw;
  }
}

double MessageBuffers::bytes_for(double capacity, Bytes spread, bool fused) {
  return (capacity + static_cast<double>(guard_bytes + 3 * page + spread)) * (fused ? 3 : 2);
}

std::byte* MessageBuffers::make(Bytes bytes) {
  if (comm_ != nullptr) return static_cast<std::byte*>(comm_->allocate_bytes(bytes));
  own_.push_back(source_ == Source::symmetric ? cuda::symmetric_memory(bytes) : plain_memory(device_, bytes));
  return own_.back().get();
}

void MessageBuffers::release() {
  if (comm_ == nullptr) return;
  for (std::byte* memory : {normalised_, out_, in_})
    if (memory != nullptr) comm_->release(memory);
}

MessageBuffers::~MessageBuffers() { release(); }

Operands MessageBuffers::operands(const Problem& problem, int call) const {
  const Bytes stride = round_up(problem.bytes() + guard_bytes) + page;
  const Bytes places = 1 + spread_ / stride;
  const Bytes at = page + stride * (call % places);
  Operands operands;
  operands.in = in_ + at;
  operands.out = problem.placement == Placement::in_place ? in_ + at : out_ + at;
  if (is_fused(problem.collective)) operands.normalised = normalised_ + at;
  return operands;
}

void MessageBuffers::write_guards(void* output, Bytes bytes) {
  auto* out = static_cast<std::byte*>(output);
  std::memset(out - guard_bytes, guard_value, guard_bytes);
  std::memset(out + bytes, guard_value, guard_bytes);
}

std::string MessageBuffers::broken_guard(const void* output, Bytes bytes) {
  const auto* out = static_cast<const std::byte*>(output);
  for (Bytes i = 0; i < guard_bytes; ++i) {
    if (out[-1 - i] != std::byte{guard_value}) return fmt::format("byte {} before the output was overwritten", i + 1);
    if (out[bytes + i] != std::byte{guard_value}) return fmt::format("byte {} behind the output was overwritten", i);
  }
  return {};
}

SweepTeam::SweepTeam(std::unique_ptr<Bootstrap> bootstrap, MakeCommunicator make, const TeamRequest& request)
    : bootstrap_(std::move(bootstrap)),
      make_(std::move(make)),
      request_(request),
      cores_(usable_cores(bootstrap_->size())) {
  meeting_ = std::make_unique<Meeting>(*bootstrap_,
                                       MeetingOptions{bootstrap_->size() > cores_, patience_of(request.timeout_s)});
  open();
}

/// The release of memory is collective: not for a rank that leaves alone. Its communicator's end waits, but not for
/// long.
SweepTeam::~SweepTeam() {
  if (std::uncaught_exceptions() == 0) return;
  if (registered_ != nullptr) registered_->abandon();
  (void)symmetric_.release();  // peers may still be in its windows
}

void SweepTeam::open() {
  comm_ = make_(request_.timeout_s);
  Meeting* const together = bootstrap_->one_process() ? meeting_.get() : nullptr;
  if (on_gpus()) gpu_ = std::make_unique<GpuCalls>(*comm_, request_.timeout_s, together);
  using Source = MessageBuffers::Source;
  if (request_.registered_bytes > 0) registered_ = fitting(Source::registered, request_.registered_bytes);
  if (request_.staged_bytes > 0) staged_ = fitting(Source::plain, request_.staged_bytes);
  if (request_.symmetric_bytes > 0 && comm_->why_not(cuda::symmetric_choice).empty())
    symmetric_ = fitting(Source::symmetric, request_.symmetric_bytes);
}

/// Empty, or that the node does not have what the ranks' buffers, and validation and the vendor inside a call (about
/// one more message each), would take.
std::string SweepTeam::beyond_node(MessageBuffers::Source source, Bytes capacity) const {
  if (on_gpus()) return {};
  const NodeMemory node = node_memory();
  const auto message = static_cast<double>(capacity);
  const double buffers = size() * MessageBuffers::bytes_for(message, request_.spread, request_.fused);
  const double all = buffers + size() * message;
  std::string reason = why_too_much(buffers, source == MessageBuffers::Source::registered, node);
  if (reason.empty()) reason = why_too_much(all, false, node);
  if (reason.empty()) return {};
  return fmt::format("messages of {} need {} on this node ({} ranks: input, output and working memory), {}",
                     readable_amount(message), readable_amount(all), size(), reason);
}

/// Throws Error(device) on all ranks when one was refused.
void SweepTeam::compare_notes(const std::string& refused) {
  throw_together(*bootstrap_, refused, request_.or_nothing ? "use smaller messages, or fewer ranks" : "");
}

/// Buffers for the largest messages that fit on all ranks. The ranks compare notes before every attempt (nothing that
/// the node does not have is touched) and after it: plain memory is refused to one rank alone.
std::unique_ptr<MessageBuffers> SweepTeam::fitting(MessageBuffers::Source source, Bytes wanted) {
  for (Bytes capacity = wanted;;) {
    std::unique_ptr<MessageBuffers> buffers;
    try {
      compare_notes(beyond_node(source, capacity));
      std::string refused;
      try {
        buffers = std::make_unique<MessageBuffers>(*comm_, source, capacity, request_.spread, request_.fused);
      } catch (const Error& error) {
        if (error.status() != Status::device) throw;
        refused = error.what();
      }
      compare_notes(refused);
      return buffers;
    } catch (const Error& error) {
      if (error.status() != Status::device || capacity <= least_message || request_.or_nothing) throw;
      if (why_small_.empty()) why_small_ = error.what();
    }
    const auto& list = request_.smaller;
    const auto above = std::lower_bound(list.begin(), list.end(), capacity);
    const Bytes next = above == list.begin() ? least_message : *std::prev(above);
    capacity = std::max(next, least_message);
  }
}

MessageBuffers* SweepTeam::buffers_for(const Problem& problem, const Plan& plan) const {
  if (problem.memory != Memory::registered) return staged_.get();
  // Where a table made the choice, there may be no windows: the vendor does what it can on an application's memory.
  const bool windows = plan.variant == cuda::symmetric_choice && symmetric_ != nullptr;
  return windows ? symmetric_.get() : registered_.get();
}

std::string SweepTeam::no_room(const Problem& problem, const Plan& plan) const {
  const MessageBuffers* buffers = buffers_for(problem, plan);
  if (buffers != nullptr && problem.bytes() <= buffers->capacity()) return {};
  return why_small_.empty() ? "no buffers of this kind were made" : why_small_;
}

Operands SweepTeam::operands(const Problem& problem, const Plan& plan, int call) {
  Operands operands = buffers_for(problem, plan)->operands(problem, call);
  if (!is_fused(problem.collective)) return operands;
  if (gamma_for_ != problem) {
    gamma_ = gamma_weights(problem);
    gamma_for_ = problem;
    if (on_gpus()) {
      const auto bytes = static_cast<Bytes>(gamma_.size());
      device_gamma_ = plain_memory(DeviceKind::cuda, bytes);
      comm_->copy(device_gamma_.get(), gamma_.data(), bytes);
    }
  }
  operands.norm.gamma = on_gpus() ? device_gamma_.get() : gamma_.data();
  return operands;
}

EpilogueSpec SweepTeam::for_device(EpilogueSpec epilogue, const Problem& problem) {
  if (!on_gpus() || epilogue.operand == nullptr) return epilogue;
  const Index elements = epilogue.kind == EpilogueKind::bias ? epilogue.cols : problem.count;
  const Bytes bytes = elements * size_of(problem.dtype);
  if (bytes > operand_room_) {
    operand_ = plain_memory(DeviceKind::cuda, bytes);
    operand_room_ = bytes;
  }
  comm_->copy(operand_.get(), epilogue.operand, bytes);
  epilogue.operand = operand_.get();
  return epilogue;
}

void SweepTeam::replace_communicator() {
  ++replaced_;
  if (registered_ != nullptr) registered_->abandon();
  (void)registered_.release();
  (void)symmetric_.release();
  (void)gpu_.release();  // its graphs may still wait for a peer
  (void)comm_.release();
  staged_.reset();
  open();
}

}  // namespace attune::driver
