/// What an allreduce costs before it moves a byte worth speaking of: one 64-byte mesh call is two team barriers and one
/// pack. Ranks are threads; with more ranks than cores the numbers are those of the scheduler.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>

#include "attune/attune.hpp"

namespace attune {
namespace {

void two_barriers(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  constexpr int calls = 2000;
  const Plan plan{.variant = "mesh", .blocks = 1, .threads = 1, .chunk_bytes = 0};
  for (auto _ : state) {
    std::atomic<double> seconds{0};
    run_local_team(ranks, {.table = "none"}, [&](Communicator& comm) {
      auto in = comm.allocate<float>(16);
      auto out = comm.allocate<float>(16);
      comm.allreduce(in.data(), out.data(), 16, DType::f32, Op::sum, plan);
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) comm.allreduce(in.data(), out.data(), 16, DType::f32, Op::sum, plan);
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (comm.rank() == 0) seconds = spent.count() / calls;
    });
    state.SetIterationTime(seconds);
  }
}
BENCHMARK(two_barriers)
    ->Arg(2)
    ->Arg(4)
    ->ArgName("ranks")
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace attune
