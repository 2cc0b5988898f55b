/// Every variant gives the exact sum on a local team, over rank counts, sizes, blocks and placements.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attune/attune.hpp"
#include "domains.h"
#include "variants/registry.h"

namespace attune {
namespace {

float input(int rank, Index i, int call) { return static_cast<float>((rank + 1) * 7 + i % 101 * 3 + call * 50); }

/// What needs a switch is refused in one line, by every rank, before anybody waits.
void expect_refusal(const Plan& plan) {
  run_local_team(2, {.table = "none"}, [&](Communicator& comm) {
    float value = 1;
    try {
      comm.allreduce(&value, &value, 1, DType::f32, Op::sum, plan);
      ADD_FAILURE() << plan.variant << " ran";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::unsupported);
      EXPECT_NE(std::string(error.what()).find("NVLink SHARP"), std::string::npos) << error.what();
    }
  });
}

class Variants : public testing::TestWithParam<std::string_view> {};

TEST_P(Variants, SumExactly) {
  const Plan base{.variant = std::string(GetParam())};
  if (base.variant == "vendor") GTEST_SKIP() << "a team of threads has no vendor";
  if (variant(GetParam()).traits.needs == Needs::multimem) return expect_refusal(base);
  const bool grouped = variant(GetParam()).traits.needs == Needs::domains;  // one rank is one domain
  for (int ranks = grouped ? 2 : 1; ranks <= 5; ++ranks) {
    const Options options{.table = "none", .scratch_bytes = 64 * 1024, .domains = conformance::several_domains(ranks)};
    run_local_team(ranks, options, [&](Communicator& comm) {
      constexpr Index most = 40000;
      auto in = comm.allocate<float>(most);
      auto out = comm.allocate<float>(most);
      std::vector<float> private_out(most + 1);
      int call = 0;
      for (const Index count : {Index{0}, Index{1}, Index{15}, Index{16}, Index{17}, Index{1000}, Index{40000}})
        for (const int blocks : {1, 3})
          for (const int mode : {0, 1, 2}) {
            ++call;
            Plan plan = base;
            plan.blocks = blocks;
            plan.chunk_bytes = 256;
            for (Index i = 0; i < count; ++i) in[i] = input(comm.rank(), i, call);
            float* to = mode == 0 ? out.data() : mode == 1 ? in.data() : private_out.data() + 1;
            comm.allreduce(in.data(), to, count, DType::f32, Op::sum, plan);
            for (Index i = 0; i < count; ++i) {
              float want = 0;
              for (int r = 0; r < ranks; ++r) want += input(r, i, call);
              ASSERT_EQ(to[i], want) << to_string(plan) << " ranks " << ranks << " count " << count << " mode " << mode
                                     << " index " << i;
            }
          }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, Variants, testing::ValuesIn(variant_names()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace attune
