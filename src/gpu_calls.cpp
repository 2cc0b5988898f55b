#include "src/gpu_calls.h"

#include <exception>

namespace attune::driver {

namespace {
constexpr std::size_t most_graphs = 64;  ///< Kept; the search goes round the plans of one problem.
constexpr std::int64_t clock_every_ns = 20'000'000;
}  // namespace

void GpuCalls::prepare(Executor& executor, const Problem& problem, const Plan& plan, const Operands& operands,
                       int calls) {
  if (problem.launch_mode != LaunchMode::graph) return;
  const Key key{problem, plan, operands.in, calls};
  if (graphs_.contains(key)) return;
  if (graphs_.size() >= most_graphs) graphs_.clear();
  Problem nothing = problem;  // what a first call makes (a communicator of the vendor's) cannot be made in a capture
  nothing.launch_mode = LaunchMode::eager;
  nothing.count = nothing.rows = 0;
  executor.run(comm_, nothing, plan, operands);
  auto graph = std::make_unique<cuda::CapturedCalls>(timer_.stream(), [&] {
    for (int k = 0; k < calls; ++k) executor.enqueue(comm_, problem, plan, operands, timer_.stream());
  });
  graph->finish();
  graphs_.emplace(key, std::move(graph));
}

void GpuCalls::prepare_and_settle(Executor& executor, const Problem& problem, const Plan& plan,
                                  const Operands& operands, int calls) {
  std::exception_ptr failure;
  try {
    prepare(executor, problem, plan, operands, calls);
  } catch (...) {
    failure = std::current_exception();
  }
  settle();
  if (failure) std::rethrow_exception(failure);
}

void GpuCalls::enqueue(Executor& executor, const Problem& problem, const Plan& plan, const Operands& operands,
                       int calls) {
  if (problem.launch_mode == LaunchMode::graph) return graphs_.at({problem, plan, operands.in, calls})->launch();
  for (int k = 0; k < calls; ++k) executor.enqueue(comm_, problem, plan, operands, timer_.stream());
}

/// A graph holds addresses of this call's operands (the bias of the epilogue, too): it is made anew.
void GpuCalls::run(Executor& executor, const Problem& problem, const Plan& plan, const Operands& operands) {
  if (problem.launch_mode != LaunchMode::graph) return executor.run(comm_, problem, plan, operands);
  graphs_.erase({problem, plan, operands.in, 1});
  prepare_and_settle(executor, problem, plan, operands, 1);
  enqueue(executor, problem, plan, operands, 1);
  wait();
}

cuda::ClockSample GpuCalls::clock() {
  if (const std::int64_t now = now_ns(); now - asked_ns_ > clock_every_ns) {
    clock_ = clocks_.sample();
    asked_ns_ = now_ns();
  }
  return clock_;
}

}  // namespace attune::driver
