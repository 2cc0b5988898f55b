/// A caller's own epilogue gives f(index, sum) on every variant, for every op, sees only indices of the message, and
/// keeps its index when a message goes in pieces.
#include "attune/epilogue.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "cases.h"
#include "domains.h"
#include "variants/registry.h"

namespace attune {
namespace {

class OwnEpilogue : public testing::TestWithParam<std::string_view> {};

TEST_P(OwnEpilogue, SeesIndexAndValue) {
  const Plan plan{.variant = std::string(GetParam()), .chunk_bytes = 128};
  const bool grouped = variant(GetParam()).traits.needs == Needs::domains;  // one rank is one domain
  for (const int ranks : {grouped ? 4 : 1, 2, 3}) {
    const Options options{.table = "none", .scratch_bytes = 4096, .domains = conformance::several_domains(ranks)};
    run_local_team(ranks, options, [&](Communicator& comm) {
      for (const Index count : {Index{1}, Index{11}, Index{3001}})
        for (const Op op : {Op::sum, Op::avg, Op::max}) {
          std::vector<float> in(static_cast<std::size_t>(count)), out(in.size());
          const std::vector<float> gain(in.size(), 3);
          for (Index i = 0; i < count; ++i)
            in[static_cast<std::size_t>(i)] = static_cast<float>((comm.rank() + 1) * (i % 50));
          const auto own = [&](Index i, float x) {
            if (i < 0 || i >= count) std::abort();  // an index outside of the message
            return x * gain[static_cast<std::size_t>(i)] + static_cast<float>(i);
          };
          allreduce(comm, in.data(), out.data(), count, op, own, plan);
          for (Index i = 0; i < count; ++i) {
            const auto base = static_cast<float>(i % 50);
            const auto n = static_cast<float>(ranks);
            const float reduced = op == Op::sum   ? base * n * (n + 1) / 2
                                  : op == Op::avg ? base * (n + 1) / 2
                                                  : base * n;
            ASSERT_EQ(out[static_cast<std::size_t>(i)], reduced * 3 + static_cast<float>(i))
                << to_string(plan) << " " << name_of(op) << " ranks " << ranks << " count " << count << " index " << i;
          }
        }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, OwnEpilogue, testing::ValuesIn(conformance::variants_to_test(false)),
                         [](const auto& info) { return std::string(info.param); });

TEST(OwnEpilogue, TakesTheTablesChoice) {
  run_local_team(2, {.table = "none"}, [](Communicator& comm) {
    const bf16 one{0x3F80};
    std::vector<bf16> in(40, one), out(40);
    allreduce(comm, in.data(), out.data(), 40, Op::sum, [](Index, float x) { return x > 1 ? x / 4 : x; });
    for (const bf16 x : out) EXPECT_EQ(to_float(x), 0.5F);
  });
}

TEST(Scale, OfIntegersSaturates) {
  run_local_team(2, {.table = "none"}, [](Communicator& comm) {
    std::vector<std::int8_t> in{50, -50, 3, 0}, out(4);
    EpilogueSpec spec{EpilogueKind::scale};
    spec.scale = 2.5;
    comm.allreduce(in.data(), out.data(), 4, Op::sum, spec);
    EXPECT_EQ(out, (std::vector<std::int8_t>{127, -128, 15, 0}));
    spec.scale = std::numeric_limits<double>::quiet_NaN();
    comm.allreduce(in.data(), out.data(), 4, Op::sum, spec);
    EXPECT_EQ(out, (std::vector<std::int8_t>{0, 0, 0, 0}));
  });
}

}  // namespace
}  // namespace attune
