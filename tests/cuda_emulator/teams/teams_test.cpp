/// The kernels that nvcc compiles, every variant, element type and rank count, executed on a local team: launches of
/// all ranks on one device, as many at once as the device holds. Results are those of the rank-order sum, to the bit.
#include <gtest/gtest.h>

#include <algorithm>

#include "calls.h"
#include "random.h"

namespace attune::emulated {
namespace {

constexpr Bytes capacity = 40000;

/// Variants that a device without multicast executes.
std::vector<std::size_t> executable_variants() {
  std::vector<std::size_t> all;
  for (std::size_t v = 0; v < variant_table.size(); ++v) {
    const Needs needs = variant_table[v].traits.needs;
    if (!variant_table[v].composite && needs != Needs::multimem && needs != Needs::domains) all.push_back(v);
  }
  return all;
}

Call draw(conformance::Random& random, std::size_t variant, DType dtype, int ranks) {
  const Traits& traits = variant_table[variant].traits;
  Call call;
  call.variant = variant;
  const Op op = random.pick({Op::sum, Op::sum, Op::max, Op::min, Op::prod, is_float(dtype) ? Op::avg : Op::sum});
  call.content = {random.next(), dtype, op, conformance::Data::exact, ranks};
  const Index lanes = 16 / size_of(dtype);
  const Bytes most = traits.max_bytes > 0 ? std::min(traits.max_bytes, capacity) : capacity;
  call.count = 1 + (random.one_in(2) ? random.below(std::min(20 * lanes, most / size_of(dtype)))
                                     : random.below(most / size_of(dtype)));
  call.count = std::min(call.count, most / size_of(dtype));
  call.chunk = random.one_in(2) ? capacity : lanes * (1 + random.below(3) + call.count / lanes / 16);
  call.blocks = 1 + static_cast<int>(random.below(std::min(3, traits.max_blocks)));
  call.threads = 32 * (random.one_in(4) ? 4 : 1 + static_cast<int>(random.below(2)));
  call.in_place = traits.in_place == InPlace::safe && random.one_in(3);
  call.by_record = random.one_in(2);
  if (random.one_in(3)) call.epilogue = EpilogueKind::bias;
  return call;
}

class Teams : public testing::TestWithParam<int> {};

// All calls of a team are enqueued before the first is waited for: variants, sizes, grids change from launch to launch.
TEST_P(Teams, GiveTheExactResultForEveryVariantAndType) {
  const int ranks = GetParam();
  const auto seed = conformance::test_seed();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  conformance::Random random(conformance::mix(seed, static_cast<std::uint64_t>(ranks)));
  const Team team(ranks, capacity);
  for (const DType dtype : all_of<DType>()) {
    std::vector<Pending> pending;
    for (const auto variant : executable_variants())
      for (int k = 0; k < 2; ++k) pending.push_back(enqueue(team, draw(random, variant, dtype, ranks)));
    team.synchronize();
    for (const auto& call : pending) ASSERT_EQ(faults_of(team, call), "") << "seed " << seed;
  }
}
INSTANTIATE_TEST_SUITE_P(OfRanks, Teams, testing::Values(2, 3, 4, 5, 6, 7, 8), testing::PrintToStringParamName());

}  // namespace
}  // namespace attune::emulated
