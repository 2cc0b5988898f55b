/// Storms: calls follow each other without a pause and without any other synchronisation; variant, blocks, count,
/// dtype, op, chunk, placement and kind of memory change from call to call, ranks are delayed at random, inputs are
/// overwritten at once after the return, two communicators take turns. Flags begin near 2^32 and cross it.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cases.h"
#include "random.h"

namespace attune::conformance {
namespace {

Options options_with(std::uint32_t first_epoch) {
  Options options;
  options.table = "none";
  options.timeout_s = 120;
  options.scratch_bytes = 16384;
  options.first_epoch = first_epoch;
  return options;
}

/// A rank that is late now and then, another one each time.
void dawdle(Random& random) {
  if (random.one_in(12)) std::this_thread::sleep_for(std::chrono::microseconds(random.below(400)));
}

struct Storm {
  std::uint64_t seed;
  int calls;
  int communicators;
  std::uint32_t first_epoch;
};

void rage(Crew& crew, const Storm& storm) {
  const Choices choices{variants_to_test(crew.has_vendor()), crew.ranks(), 32768, 4};
  std::vector<Communicator> comms;
  std::vector<std::unique_ptr<Arena>> arenas;
  for (int k = 0; k < storm.communicators; ++k) comms.push_back(crew.communicator(options_with(storm.first_epoch)));
  for (auto& comm : comms) arenas.push_back(std::make_unique<Arena>(comm, choices.most_bytes));
  Random delays(mix(storm.seed, static_cast<std::uint64_t>(crew.rank() + 1)));
  Random order(storm.seed);
  std::string error;
  std::vector<std::uint64_t> hashes;
  for (int call = 0; call < storm.calls && error.empty(); ++call) {
    const Case c = draw(mix(storm.seed, static_cast<std::uint64_t>(call)), choices);
    const auto which = static_cast<std::size_t>(order.below(storm.communicators));
    dawdle(delays);
    std::uint64_t hash = 0;
    error = run(c, comms[which], *arenas[which], hash);
    hashes.push_back(hash);
    if (error.empty()) continue;
    error += "\n  call " + std::to_string(call) + ": " + describe(c) + "\n  seed " + std::to_string(storm.seed);
    throw Error(Status::wrong, error);  // peers are in later calls: there is no way back
  }
  // Compared at the end, because notes after each call would keep the ranks in step.
  for (std::size_t call = 0; call < hashes.size(); ++call) {
    const auto differ = crew.first_error("", hashes[call]);
    if (differ.empty()) continue;
    throw Error(Status::wrong, differ + "\n  call " + std::to_string(call) + ": " +
                                   describe(draw(mix(storm.seed, call), choices)) + "\n  seed " +
                                   std::to_string(storm.seed));
  }
}

class Storms : public testing::TestWithParam<int> {};

TEST_P(Storms, PassOverOneCommunicator) {
  const Storm storm{test_seed(), effort(700), 1, 0};
  with_local_crew(GetParam(), [&](Crew& crew) { rage(crew, storm); });
}
TEST_P(Storms, PassOverTwoCommunicatorsAcrossTheWrap) {
  const Storm storm{test_seed() + 1, effort(400), 2, 0xFFFFFFFFU - 60};
  with_local_crew(GetParam(), [&](Crew& crew) { rage(crew, storm); });
}
INSTANTIATE_TEST_SUITE_P(All, Storms, testing::Values(2, 3, 4, 7, 8),
                         [](const auto& info) { return std::to_string(info.param); });

/// The smallest calls there are, as fast as they go: who is ahead is ahead by as much as the protocol allows. The wrap
/// is crossed for every start around it.
TEST(TinyCalls, RunAheadAsFarAsTheyMay) {
  for (const auto& name : variants_to_test(false)) {
    if (name == "naive") continue;  // it meets through the bootstrap
    for (const int ranks : {2, 3, 5})
      with_local_crew(ranks, [&](Crew& crew) {
        auto comm = crew.communicator(options_with(0xFFFFFFFFU - static_cast<std::uint32_t>(ranks) * 100));
        auto in = comm.allocate<float>(64);
        auto out = comm.allocate<float>(64);
        const Plan plan{std::string(name), 1, 1, 0};
        for (int call = 0; call < effort(4000); ++call) {
          const Index count = 1 + call % 5;
          for (Index i = 0; i < count; ++i) in[i] = static_cast<float>(call + crew.rank());
          comm.allreduce(in.data(), out.data(), count, DType::f32, Op::sum, plan);
          const auto want = static_cast<float>(ranks * call + ranks * (ranks - 1) / 2);
          for (Index i = 0; i < count; ++i)
            if (out[i] != want)
              throw Error(Status::wrong, plan.variant + " call " + std::to_string(call) + ": got " +
                                             std::to_string(out[i]) + ", want " + std::to_string(want));
        }
      });
  }
}

}  // namespace
}  // namespace attune::conformance
