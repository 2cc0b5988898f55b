#pragma once
/// Calls on a GPU that are timed there: enqueued behind a start line that all ranks leave together, one by one or as a
/// graph.
#include <map>
#include <memory>

#include "runtime/cuda_clocks.h"
#include "runtime/cuda_timing.h"
#include "src/measure_meeting.h"
#include "src/sweep_executor.h"

namespace attune::driver {

class GpuCalls {
 public:
  /// `one_process`: where the ranks meet, if they share a process and a device; else null.
  GpuCalls(Communicator& comm, double timeout_s, Meeting* one_process)
      : comm_(comm), one_process_(one_process), timer_(timeout_s) {}

  /// Before calls are enqueued: nobody's stream may wait for a rank that still allocates, frees or makes a graph ready,
  /// because on a device that they share that may wait for the stream. Nothing to do where each rank has its own.
  void settle() {
    if (one_process_ != nullptr) one_process_->barrier();
  }

  /// One call, eager or from a graph, to its end.
  void run(Executor& executor, const Problem& problem, const Plan& plan, const Operands& operands);
  /// Makes the graph of `calls` calls ready, where the problem asks for one. Of a local team no rank waits for another
  /// in here: where it fails on one alone, the others go on to what comes next, settle(). For communicators that stage
  /// what is captured (Options::register_captured = false).
  void prepare(Executor& executor, const Problem& problem, const Plan& plan, const Operands& operands, int calls);
  /// Both. A rank where the first fails passes the second before it throws: it leaves no barrier out.
  void prepare_and_settle(Executor& executor, const Problem& problem, const Plan& plan, const Operands& operands,
                          int calls);
  /// Enqueues `calls` calls, or one launch of their graph.
  void enqueue(Executor& executor, const Problem& problem, const Plan& plan, const Operands& operands, int calls);
  /// Waits for all that was enqueued.
  void wait() { comm_.synchronize(timer_.stream()); }

  [[nodiscard]] cuda::LaunchTimer& timer() { return timer_; }
  /// The GPU's clock as it was lately. Asked of the driver at most every few milliseconds.
  [[nodiscard]] cuda::ClockSample clock();

 private:
  struct Key {
    Problem problem;
    Plan plan;
    const void* in;
    int calls;
    auto operator<=>(const Key&) const = default;
  };
  Communicator& comm_;
  Meeting* one_process_;
  cuda::LaunchTimer timer_;
  cuda::Clocks clocks_;
  cuda::ClockSample clock_;
  std::int64_t asked_ns_ = 0;
  std::map<Key, std::unique_ptr<cuda::CapturedCalls>> graphs_;
};

}  // namespace attune::driver
