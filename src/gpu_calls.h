#pragma once
/// Calls on a GPU that are timed there: enqueued behind a start line that all ranks leave together, one by one or as a
/// graph.
#include <map>
#include <memory>

#include "runtime/cuda_clocks.h"
#include "runtime/cuda_timing.h"
#include "src/sweep_executor.h"

namespace attune::driver {

class GpuCalls {
 public:
  GpuCalls(Communicator& comm, double timeout_s) : comm_(comm), timer_(timeout_s) {}

  /// One call, eager or from a graph, to its end.
  void run(Executor& executor, const Problem& problem, const Plan& plan, const Operands& operands);
  /// Makes the graph of `calls` calls ready, where the problem asks for one: capturing needs all ranks.
  void prepare(Executor& executor, const Problem& problem, const Plan& plan, const Operands& operands, int calls);
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
  cuda::LaunchTimer timer_;
  cuda::Clocks clocks_;
  cuda::ClockSample clock_;
  std::int64_t asked_ns_ = 0;
  std::map<Key, std::unique_ptr<cuda::CapturedCalls>> graphs_;
};

}  // namespace attune::driver
