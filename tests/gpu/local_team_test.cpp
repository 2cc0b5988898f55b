/// Teams of streams on one GPU: every variant, memory that needs staging, graphs, and what happens to a rank that is
/// left alone.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "attune/attune.hpp"
#include "runtime/cuda_device.h"
#include "runtime/cuda_timing.h"
#include "variants/registry.h"

namespace attune {
namespace {

class LocalTeam : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (const std::string reason = cuda::why_no_device(); !reason.empty()) GTEST_SKIP() << reason;
  }
};

Options on_gpu(double timeout_s = 20) {
  return {.device = DeviceKind::cuda, .table = "none", .timeout_s = timeout_s, .scratch_bytes = Bytes{1} << 18};
}

/// Integers that every order of summation keeps exact; they differ by rank, position and turn.
std::vector<float> input_of(int rank, Index count, int turn) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>((i * 7 + rank * 13 + turn * 5) % 101);
  return values;
}
std::vector<float> sum_of(int ranks, Index count, int turn) {
  std::vector<float> sum(static_cast<std::size_t>(count));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto one = input_of(rank, count, turn);
    std::transform(one.begin(), one.end(), sum.begin(), sum.begin(), std::plus<>());
  }
  return sum;
}

Bytes bytes_of(Index count) { return count * static_cast<Bytes>(sizeof(float)); }

void put(Communicator& comm, float* at, int turn, Index count) {
  comm.copy(at, input_of(comm.rank(), count, turn).data(), bytes_of(count));
}
void expect_sum(Communicator& comm, const float* at, int turn, Index count, const std::string& what) {
  std::vector<float> seen(static_cast<std::size_t>(count));
  comm.copy(seen.data(), at, bytes_of(count));
  EXPECT_EQ(seen, sum_of(comm.size(), count, turn)) << what << ", rank " << comm.rank() << ", " << count;
}

std::vector<Plan> plans(const Communicator& comm) {
  std::vector<Plan> all;
  for (const auto& info : variant_table)
    if (comm.why_not(info.name).empty())
      for (const int blocks : {1, 3})
        all.push_back({.variant = std::string(info.name), .blocks = blocks, .threads = 64});
  return all;
}

TEST_P(LocalTeam, EveryVariantSumsRegisteredMemory) {
  run_local_team(GetParam(), on_gpu(), [](Communicator& comm) {
    constexpr Index most = 5000;
    auto in = comm.allocate<float>(most), out = comm.allocate<float>(most);
    int turn = 0;
    for (const Plan& plan : plans(comm))
      for (const Index count : {Index{1}, Index{3}, Index{64}, Index{1021}, most})
        for (const bool in_place : {false, true}) {
          float* result = in_place ? in.data() : out.data();
          put(comm, in.data(), ++turn, count);
          comm.allreduce(in.data(), result, count, DType::f32, Op::sum, plan);
          expect_sum(comm, result, turn, count, to_string(plan));
        }
  });
}

TEST_P(LocalTeam, AnyMemoryOfTheDeviceWillDoAtAnyElement) {
  run_local_team(GetParam(), on_gpu(), [](Communicator& comm) {
    constexpr Index count = 70'000;  // longer than the scratch of these teams
    const auto in = cuda::local_memory(bytes_of(count + 8)), out = cuda::local_memory(bytes_of(count + 8));
    int turn = 0;
    for (const Plan& plan : plans(comm))
      for (const int shift : {0, 1}) {
        auto* from = reinterpret_cast<float*>(in.get()) + shift;
        auto* to = reinterpret_cast<float*>(out.get()) + shift;
        put(comm, from, ++turn, count);
        comm.allreduce(from, to, count, DType::f32, Op::sum, plan);
        expect_sum(comm, to, turn, count, to_string(plan));
      }
  });
}

TEST_P(LocalTeam, AGraphReplaysWithNewDataAndMixesWithEagerCalls) {
  run_local_team(GetParam(), on_gpu(), [](Communicator& comm) {
    constexpr Index count = 3000;
    const auto plain_in = cuda::local_memory(bytes_of(count)), plain_out = cuda::local_memory(bytes_of(count));
    auto* in = reinterpret_cast<float*>(plain_in.get());
    auto* out = reinterpret_cast<float*>(plain_out.get());
    int turn = 0;
    for (const Plan& plan : plans(comm)) {
      if (plan.variant == "naive") continue;
      cuda::LaunchTimer timer(20);
      cuda::CapturedCalls graph(timer.stream(), [&] {
        comm.allreduce({in, out, count, DType::f32, Op::sum, {}, nullptr, timer.stream()}, plan);
      });
      comm.complete_capture();
      graph.finish();
      for (int replay = 0; replay < 3; ++replay) {
        put(comm, in, ++turn, count);
        graph.launch();
        comm.synchronize(timer.stream());
        expect_sum(comm, out, turn, count, "replayed " + to_string(plan));
        put(comm, in, ++turn, count);
        comm.allreduce(in, out, count, DType::f32, Op::sum, plan);
        expect_sum(comm, out, turn, count, "eager " + to_string(plan));
      }
    }
  });
}

TEST_P(LocalTeam, TwoCommunicatorsAndTwoStreamsDoNotMeet) {
  const int ranks = GetParam();
  auto second = make_local_bootstraps(ranks);
  run_local_team(ranks, on_gpu(), [&](Communicator& comm) {
    Communicator other(std::move(second[static_cast<std::size_t>(comm.rank())]), on_gpu());
    constexpr Index count = 2000;
    auto in = comm.allocate<float>(count), out = comm.allocate<float>(count);
    auto in2 = other.allocate<float>(count), out2 = other.allocate<float>(count);
    put(comm, in.data(), 1, count);
    put(comm, in2.data(), 2, count);
    const Plan plan{.variant = "two_shot", .blocks = 1, .threads = 64};
    cuda::LaunchTimer a(20), b(20);
    for (int turn = 0; turn < 10; ++turn) {
      comm.allreduce({in.data(), out.data(), count, DType::f32, Op::sum, {}, nullptr, a.stream()}, plan);
      comm.allreduce({in.data(), out.data(), count, DType::f32, Op::sum, {}, nullptr, b.stream()}, plan);
      comm.synchronize(a.stream());
      comm.synchronize(b.stream());
      other.allreduce(in2.data(), out2.data(), count, DType::f32, Op::sum, plan);
    }
    expect_sum(comm, out.data(), 1, count, "first");
    expect_sum(comm, out2.data(), 2, count, "second");
  });
}

TEST_P(LocalTeam, ARankThatDoesNotComeIsNamed) {
  const int ranks = GetParam();
  if (ranks < 2) GTEST_SKIP() << "nobody to wait for";
  run_local_team(ranks, on_gpu(0.5), [](Communicator& comm) {
    const auto in = cuda::local_memory(bytes_of(100)), out = cuda::local_memory(bytes_of(100));
    if (comm.rank() == 1) return;
    const Plan plan{.variant = "mesh", .blocks = 1, .threads = 32};
    try {
      comm.allreduce(in.get(), out.get(), 100, DType::f32, Op::sum, plan);
      ADD_FAILURE() << "rank " << comm.rank() << " went on without rank 1";
    } catch (const Error& error) {
      EXPECT_TRUE(error.status() == Status::timeout || error.status() == Status::internal) << error.what();
      EXPECT_NE(std::string(error.what()).find("rank"), std::string::npos) << error.what();
    }
  });
}

TEST_P(LocalTeam, MemoryOfTheHostIsRefused) {
  run_local_team(GetParam(), on_gpu(), [](Communicator& comm) {
    std::vector<float> in(100), out(100);
    EXPECT_THROW(comm.allreduce(in.data(), out.data(), 100, Op::sum), Error);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, LocalTeam, testing::Values(1, 2, 3, 4), testing::PrintToStringParamName());

}  // namespace
}  // namespace attune
