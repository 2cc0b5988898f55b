/// A call that is made again runs as it was prepared: it must mean the same then, and only then.
#include "api/known_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <utility>
#include <vector>

#include "attune/attune.hpp"
#include "attune/epilogue.hpp"
#include "core/error.h"

namespace attune {
namespace {

constexpr Index count = 1000;

struct Nothing final : PreparedCall {
  void run() override {}
};

/// Several calls in a row over these buffers give the sums of what is in them at each.
void expect_sums(Communicator& comm, float* in, float* out, int calls, const Plan* plan = nullptr) {
  for (int round = 0; round < calls; ++round) {
    for (Index i = 0; i < count; ++i) in[i] = static_cast<float>((comm.rank() + 1) * (i % 97) + round);
    if (plan != nullptr) {
      comm.allreduce(in, out, count, DType::f32, Op::sum, *plan);
    } else {
      comm.allreduce(in, out, count, DType::f32, Op::sum);
    }
    const int n = comm.size();
    for (Index i = 0; i < count; ++i)
      ASSERT_EQ(out[i], static_cast<float>(n * (n + 1) / 2 * (i % 97) + n * round)) << "round " << round;
  }
}

TEST(KnownCalls, ReadTheirBuffersAnew) {
  run_local_team(3, {.table = "none"}, [](Communicator& comm) {
    auto in = comm.allocate<float>(count);
    auto out = comm.allocate<float>(count);
    std::vector<float> own_in(count), own_out(count);
    expect_sums(comm, in.data(), out.data(), 5);
    expect_sums(comm, own_in.data(), own_out.data(), 5);
    for (const char* variant : {"mesh", "push", "two_shot", "two_shot_write", "ring", "naive"}) {
      const Plan plan{.variant = variant};
      expect_sums(comm, in.data(), out.data(), 5, &plan);
      expect_sums(comm, own_in.data(), own_out.data(), 5, &plan);
    }
  });
}

/// Memory that is released and comes again at the same address has another number for the peers.
TEST(KnownCalls, AreForgottenWithTheMemory) {
  std::atomic<int> came_again{0};
  run_local_team(2, {.table = "none"}, [&](Communicator& comm) {
    const Plan plan{.variant = "two_shot_write"};
    std::set<std::pair<float*, float*>> seen;
    for (int life = 0; life < 30; ++life) {
      auto in = comm.allocate<float>(count);
      auto out = comm.allocate<float>(count);
      if (!seen.emplace(in.data(), out.data()).second) ++came_again;
      expect_sums(comm, in.data(), out.data(), 3, &plan);
      expect_sums(comm, in.data(), out.data(), 3);
    }
  });
  EXPECT_GT(came_again, 0) << "this proves nothing where no address comes again";
}

TEST(KnownCalls, DifferInAllThatACallSays) {
  float a = 0, b = 0;
  const AllreduceCall call{&a, &b, 1, DType::f32, Op::sum, {}};
  const Plan plan{.variant = "mesh"};
  std::vector<AllreduceCall> others(8, call);
  others[0].in = &b;
  others[1].out = &a;
  others[2].count = 0;
  others[3].dtype = DType::i32;
  others[4].op = Op::max;
  others[5].epilogue.kind = EpilogueKind::relu;
  others[6].epilogue.scale = 2;
  others[7].epilogue.operand = &a;
  KnownCall known;
  EXPECT_FALSE(known.comes_again(call, nullptr));
  EXPECT_TRUE(known.comes_again(call, nullptr));
  known.prepared = std::make_unique<Nothing>();
  EXPECT_TRUE(known.is(call, nullptr));
  EXPECT_FALSE(known.is(call, &plan)) << "the table's choice is not a plan by hand";
  for (std::size_t k = 0; k < others.size(); ++k) EXPECT_FALSE(known.is(others[k], nullptr)) << k;
  EXPECT_FALSE(known.comes_again(call, &plan));
  EXPECT_EQ(known.prepared, nullptr) << "what was prepared belongs to the call before";
  known.prepared = std::make_unique<Nothing>();
  Plan other = plan;
  other.blocks = 2;
  EXPECT_TRUE(known.is(call, &plan));
  EXPECT_FALSE(known.is(call, &other));
}

/// The kernels of two functors may lie at one address of the stack, one after the other.
TEST(KnownCalls, KnowNoCallersFunctors) {
  run_local_team(2, {.table = "none"}, [](Communicator& comm) {
    std::vector<float> in(count, 1), out(count);
    const auto triple = [](Index, float x) { return 3 * x; };
    const auto plus = [](Index, float x) { return x + 1; };
    CallerKernels kernels = host::callers_kernels_of<float>(triple);
    const AllreduceCall call{in.data(), out.data(), count, DType::f32, Op::sum, {}, &kernels};
    for (int round = 0; round < 4; ++round) {
      comm.allreduce(call);
      EXPECT_EQ(out[7], 6);
    }
    kernels = host::callers_kernels_of<float>(plus);
    comm.allreduce(call);
    EXPECT_EQ(out[7], 3);
  });
}

TEST(KnownCalls, StillRefuseMisuse) {
  run_local_team(2, {.table = "none"}, [](Communicator& comm) {
    std::vector<float> in(count), out(count);
    const Plan plan{.variant = "mesh"};
    expect_sums(comm, in.data(), out.data(), 4, &plan);
    Plan none = plan;
    none.blocks = 0;
    for (int round = 0; round < 3; ++round)
      EXPECT_THROW(comm.allreduce(in.data(), out.data(), count, DType::f32, Op::sum, none), Error);
    for (int round = 0; round < 3; ++round)
      EXPECT_THROW(comm.allreduce(in.data(), out.data(), -1, DType::f32, Op::sum), Error);
    expect_sums(comm, in.data(), out.data(), 4, &plan);
  });
}

}  // namespace
}  // namespace attune
