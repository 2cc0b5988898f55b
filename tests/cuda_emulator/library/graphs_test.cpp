/// Graphs of several processes: what must be exchanged before they are launched, and what goes wrong on the way.
/// Numbers are the rows of conformance/BUGS.md.
#include "runtime/cuda_timing.h"
#include "world.h"

namespace attune::emulated {
namespace {

cuda::CapturedCalls capture(Communicator& comm, void* stream, const float* in, float* out, Index count,
                            const Plan& plan) {
  return {stream, [&] { comm.allreduce({in, out, count, DType::f32, Op::sum, {}, nullptr, stream}, plan); }};
}
const Plan two_shot{.variant = "two_shot_write", .blocks = 2, .threads = 64};

// 10: replays with new data between eager calls. 15: buffers that peers can address only after the capture.
TEST(Graphs, OfUnregisteredMemoryReplayWithNewData) {
  Communicator comm(MPI_COMM_WORLD, on_gpus());
  constexpr Index count = 3000;
  const PlainMemory in(count), out(count);
  cuda::LaunchTimer timer(20);
  int turn = 0;
  for (const Plan& plan : plans(comm, false)) {
    if (plan.variant == "push") continue;  // takes less
    auto graph = capture(comm, timer.stream(), in.get(), out.get(), count, plan);
    comm.complete_capture();
    graph.finish();
    for (int replay = 0; replay < 3; ++replay) {
      put(comm, in.get(), count, ++turn);
      graph.launch();
      comm.synchronize(timer.stream());
      expect_sum(comm, out.get(), count, turn, "replayed " + to_string(plan));
      sum(comm, in.get(), out.get(), count, ++turn, plan);
    }
  }
}

// 15: launched too early, it ends with an error that says what is missing, on all ranks, and does not touch memory.
TEST(Graphs, LaunchedBeforeCompleteCaptureSaySo) {
  Communicator comm(MPI_COMM_WORLD, on_gpus(5));
  constexpr Index count = 3000;
  const PlainMemory in(count), out(count);
  cuda::LaunchTimer timer(20);
  auto graph = capture(comm, timer.stream(), in.get(), out.get(), count, two_shot);
  graph.finish();
  graph.launch();
  const auto text = error_of([&] { comm.synchronize(timer.stream()); });
  EXPECT_TRUE(text.find("call Communicator::complete_capture") != std::string::npos ||
              text.find("which has failed") != std::string::npos)
      << text;
  (void)error_of([&] { comm.allreduce(in.get(), out.get(), count, DType::f32, Op::sum, two_shot); });
}

// 16: one rank frees a captured buffer before its handle is exchanged; the place may already be another's. The second
// time, all buffers are where freed ones of a graph were, which peers still have mapped.
TEST(Graphs, OfMemoryThatIsGoneAreRefusedByAllRanks) {
  Communicator comm(MPI_COMM_WORLD, on_gpus());
  constexpr Index count = 3000;
  for (const bool taken_again : {false, true}) {
    PlainMemory in(count);
    const PlainMemory out(count);
    cuda::LaunchTimer timer(20);
    {
      const auto graph = capture(comm, timer.stream(), in.get(), out.get(), count, two_shot);
      if (comm.rank() == 0) in.release();
      const PlainMemory another(taken_again ? count : 1);
      const auto text = error_of([&] { comm.complete_capture(); });
      EXPECT_NE(text.find("rank 0"), std::string::npos) << text;
    }
    const PlainMemory fresh(count);
    sum(comm, fresh.get(), out.get(), count, 1, two_shot);  // the communicator goes on
    auto graph = capture(comm, timer.stream(), fresh.get(), out.get(), count, two_shot);
    comm.complete_capture();
    graph.finish();
    put(comm, fresh.get(), count, 2);
    graph.launch();
    comm.synchronize(timer.stream());
    expect_sum(comm, out.get(), count, 2, "after a refusal");
  }
}

// 12: two streams of one communicator take turns; within one capture they would run side by side, and are refused.
TEST(Graphs, OfTwoStreamsOfOneCommunicatorAreRefused) {
  Communicator comm(MPI_COMM_WORLD, on_gpus());
  constexpr Index count = 2000;
  auto in = comm.allocate<float>(count), out = comm.allocate<float>(count);
  cuda::LaunchTimer a(20), b(20);
  put(comm, in.data(), count, 1);
  const auto call_on = [&](cuda::LaunchTimer& timer) {
    comm.allreduce({in.data(), out.data(), count, DType::f32, Op::sum, {}, nullptr, timer.stream()}, two_shot);
  };
  for (int turn = 0; turn < 10; ++turn) call_on(turn % 2 == 0 ? a : b);
  comm.synchronize(a.stream());
  comm.synchronize(b.stream());
  expect_sum(comm, out.data(), count, 1, "two streams");
  cudaEvent_t fork = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), cudaSuccess);
  const auto text = error_of([&] {
    const cuda::CapturedCalls graph(a.stream(), [&] {
      call_on(a);
      ASSERT_EQ(cudaEventRecord(fork, static_cast<cudaStream_t>(a.stream())), cudaSuccess);
      ASSERT_EQ(cudaStreamWaitEvent(static_cast<cudaStream_t>(b.stream()), fork, 0), cudaSuccess);
      call_on(b);
    });
  });
  EXPECT_NE(text.find("two streams of one capture"), std::string::npos) << text;
  (void)cudaEventDestroy(fork);
  sum(comm, in.data(), out.data(), count, 2, two_shot);
}

}  // namespace
}  // namespace attune::emulated
