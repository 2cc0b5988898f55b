/// What a team refuses, and how a rank that is left alone finds out.
#include "runtime/host_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/error.h"
#include "variants/registry.h"

namespace attune::host {
namespace {

/// Runs f(team) on n threads; a failure of one is an error of the test.
template <class F>
void with_team(int n, const TeamOptions& options, F f) {
  auto bootstraps = make_local_bootstraps(n);
  std::vector<std::thread> ranks;
  for (auto& bootstrap : bootstraps)
    ranks.emplace_back([&] {
      HostTeam team(std::move(bootstrap), options);
      f(team);
    });
  for (auto& rank : ranks) rank.join();
}
TeamOptions small() { return {.timeout_s = 1, .scratch_bytes = 4096}; }

template <class F>
Status status_of(F f, std::string* text = nullptr) {
  try {
    f();
  } catch (const Error& error) {
    if (text != nullptr) *text = error.what();
    return error.status();
  }
  return Status::success;
}

/// A peer that never comes: after the time limit the error names variant, block, ranks and epochs; then the team is
/// lost, and says so at once.
TEST(HostTeam, NamesWhoItWaitsForInVain) {
  with_team(2, small(), [](HostTeam& team) {
    if (team.rank() == 1) return;
    std::vector<float> data(64);
    std::string text;
    const auto call = [&] {
      team.allreduce(0, {"mesh", 1, 1, 0}, {data.data(), data.data(), 64, DType::f32, Op::sum, {}});
    };
    EXPECT_EQ(status_of(call, &text), Status::timeout);
    for (const char* word : {"timeout", "mesh", "block 0", "rank 0", "rank 1", "epoch 1", "ATTUNE_TIMEOUT_S"})
      EXPECT_NE(text.find(word), std::string::npos) << word << " is missing in: " << text;
    EXPECT_EQ(status_of(call), Status::internal);
  });
}

TEST(HostTeam, RefusesMisuse) {
  with_team(1, small(), [](HostTeam& team) {
    std::vector<float> data(70);
    const auto call = [&](Plan plan, AllreduceCall what) { return status_of([&] { team.allreduce(0, plan, what); }); };
    const Plan plan{"mesh", 1, 1, 0};
    float* at = data.data();
    auto* odd = reinterpret_cast<float*>(reinterpret_cast<char*>(at) + 1);
    EXPECT_EQ(call(plan, {at, at, -1, DType::f32, Op::sum, {}}), Status::usage) << "negative count";
    EXPECT_EQ(call(plan, {nullptr, at, 1, DType::f32, Op::sum, {}}), Status::usage) << "null";
    EXPECT_EQ(call(plan, {at, odd, 1, DType::f32, Op::sum, {}}), Status::usage) << "misaligned element";
    EXPECT_EQ(call(plan, {at, at + 1, 10, DType::f32, Op::sum, {}}), Status::usage) << "overlap in part";
    EXPECT_EQ(call({"mesh", 0, 1, 0}, {at, at, 1, DType::f32, Op::sum, {}}), Status::usage) << "no block";
    EXPECT_EQ(call({"mesh", max_blocks + 1, 1, 0}, {at, at, 1, DType::f32, Op::sum, {}}), Status::usage) << "blocks";
    EXPECT_EQ(call(plan, {at, at, 1, DType::f32, Op::sum, {.kind = EpilogueKind::bias}}), Status::usage) << "operand";
    EXPECT_EQ(call(plan, {nullptr, nullptr, 0, DType::f32, Op::sum, {}}), Status::success) << "nothing to do";
    EXPECT_EQ(call(plan, {at, at + 10, 10, DType::f32, Op::sum, {}}), Status::success) << "neighbours";
  });
}

TEST(HostTeam, KnowsItsMemory) {
  with_team(2, small(), [](HostTeam& team) {
    std::byte* memory = team.allocate(1000 + team.rank() * 5000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0U);
    EXPECT_TRUE(team.registered(memory, 1000));
    EXPECT_TRUE(team.registered(memory + 999, 1));
    EXPECT_FALSE(team.registered(memory, 1 << 20)) << "reaches beyond";
    int own = 0;
    EXPECT_FALSE(team.registered(&own, sizeof own));
    team.release(memory);
    EXPECT_FALSE(team.registered(memory, 1));
    EXPECT_EQ(status_of([&] { team.release(memory); }), Status::usage) << "released twice";
    EXPECT_EQ(status_of([&] { (void)team.allocate(-1); }), Status::usage);
  });
}

/// Sizes of 4 GiB and more stay what they are in the words that ranks exchange.
TEST(SymmetricAddress, HoldsLargeOffsets) {
  for (const std::uint64_t segment : {0U, 1U, 1000U, 1048575U})
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{0x80000000}, std::uint64_t{0x123456789A}}) {
      const auto address = SymmetricAddress::make(segment, offset);
      EXPECT_EQ(address.segment(), segment);
      EXPECT_EQ(address.offset(), offset);
    }
}

/// Epochs are compared across the wrap.
TEST(Epochs, ReachEachOtherAcrossTheWrap) {
  EXPECT_TRUE(reached(5, 5));
  EXPECT_TRUE(reached(6, 5));
  EXPECT_FALSE(reached(4, 5));
  EXPECT_TRUE(reached(0, 0xFFFFFFFFU));
  EXPECT_TRUE(reached(3, 0xFFFFFFF0U));
  EXPECT_FALSE(reached(0xFFFFFFFFU, 0));
  EXPECT_FALSE(reached(0xFFFFFFF0U, 3));
}

}  // namespace
}  // namespace attune::host
