// What may be tried: sizes cut to whole elements, plans that could win, and the facts about variants.
#include "tuner/search.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/unit/tuner/synthetic.h"

namespace attune::tuner {
namespace {

using testing::mesh;
using testing::two_shot;
using testing::vendor;

TEST(Resized, KeepsWholeElementsAndRows) {
  const Problem flat{.dtype = DType::f64, .count = 100, .ranks = 2};
  EXPECT_EQ(resized(flat, 81).count, 10);
  EXPECT_EQ(resized(flat, 0).count, 1);
  const Problem fused{.collective = Collective::reduce_scatter_rms_norm,
                      .dtype = DType::bf16,
                      .count = 64 * 128,
                      .rows = 64,
                      .cols = 128,
                      .ranks = 2};
  const Problem half = resized(fused, fused.bytes() / 2 + 17);
  EXPECT_EQ(half.rows, 32);
  EXPECT_EQ(half.count, 32 * 128);
  EXPECT_EQ(resized(fused, 1).rows, 1);
}

TEST(Plausible, DropsWhatCannotWinOnAnyMachineOnly) {
  const Plan cheap{.variant = "cheap"}, costly{.variant = "costly"}, steps{.variant = "many_steps"},
      traffic{.variant = "much_traffic"};
  const CostOf cost = [](const Plan& plan, int, Bytes) -> std::optional<Cost> {
    if (plan.variant == "vendor") return std::nullopt;
    return Cost{.peer_reads = plan.variant == "costly" || plan.variant == "much_traffic" ? 300 : 100,
                .rounds = plan.variant == "costly" || plan.variant == "many_steps" ? 12 : 2};
  };
  EXPECT_EQ(plausible(testing::problem_of(64), {vendor, cheap, costly, steps, traffic}, cost),
            (std::vector<Plan>{vendor, cheap, steps, traffic}));
}

TEST(VariantFacts, ComeFromTheBuildsOwnList) {
  EXPECT_EQ(facts_of_variant(vendor)->numerics, Numerics::vendor);
  EXPECT_EQ(facts_of_variant({.variant = "vendor:openmpi/ring"})->numerics, Numerics::vendor);
  EXPECT_EQ(facts_of_variant(mesh)->numerics, Numerics::rank_order);
  EXPECT_EQ(facts_of_variant({.variant = "ring"})->numerics, Numerics::per_hop);
  EXPECT_FALSE(facts_of_variant({.variant = "no_such"}));
  EXPECT_LT(facts_of_variant(mesh)->complexity, facts_of_variant(two_shot)->complexity);
  EXPECT_LT(facts_of_variant({.variant = "ring"})->complexity,
            facts_of_variant({.variant = "ring", .chunk_bytes = 4096})->complexity);
  EXPECT_FALSE(cost_of_variant(vendor, 2, 64));
  EXPECT_GT(cost_of_variant(mesh, 2, 64)->peer_reads, 0);
}

}  // namespace
}  // namespace attune::tuner
