/// What a result is rounded to, and how often: accumulators, the class that each variant claims, the average, integer
/// overflow, saturation of 8-bit floats, NaN and signed zeros. See device/ops.h for the rules.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "cases.h"
#include "core/floats.h"
#include "variants/registry.h"

namespace attune::conformance {
namespace {

/// out of an allreduce where rank r holds input(r, i), the same on all ranks or the test fails.
template <class T, class F>
std::vector<T> reduce(std::string_view variant, int ranks, Index count, Op op, F input) {
  std::vector<T> result;
  std::mutex mutex;
  with_local_crew(ranks, [&](Crew& crew) {
    Options options;
    options.table = "none";
    options.scratch_bytes = 65536;
    auto comm = crew.communicator(options);
    auto in = comm.allocate<T>(count);
    auto out = comm.allocate<T>(count);
    for (Index i = 0; i < count; ++i) in[i] = input(crew.rank(), i);
    comm.allreduce(in.data(), out.data(), count, dtype_of<T>, op, Plan{std::string(variant), 1, 1, 0});
    const std::lock_guard guard(mutex);
    if (result.empty()) result.assign(out.data(), out.data() + count);
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    EXPECT_EQ(std::memcmp(result.data(), out.data(), bytes), 0) << variant << ": ranks differ";
  });
  return result;
}

class Numbers : public testing::TestWithParam<std::string_view> {
 protected:
  [[nodiscard]] static bool rounds_once() { return variant(GetParam()).traits.numerics == Numerics::rank_order; }
};

/// 256 + 1 + 1 + … in bf16: every single addition is lost, the wide sum is not.
TEST_P(Numbers, ClassIsWhatIsDone) {
  constexpr Index count = 960;
  constexpr int ranks = 5;
  // Integers that bf16 holds; sums of two and more of them need a bit more than it has, in whatever order.
  const auto term = [](int rank, Index i) { return 1 + (rank * 97 + static_cast<int>(i) * 31) % 255; };
  const auto input = [term](int rank, Index i) { return from_float<bf16>(static_cast<float>(term(rank, i))); };
  const auto got = reduce<bf16>(GetParam(), ranks, count, Op::sum, input);
  Index different = 0;
  for (Index i = 0; i < count; ++i) {
    int sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += term(rank, i);
    different += got[static_cast<std::size_t>(i)] == from_float<bf16>(static_cast<float>(sum)) ? 0 : 1;
  }
  if (rounds_once()) {
    EXPECT_EQ(different, 0) << "a rank_order variant rounded on the way";
  } else {
    EXPECT_GT(different, 0) << "a per_hop variant that never rounds on the way may claim more";
  }
}

/// f32 is accumulated in f32, not wider; f16 and f8 in f32.
TEST_P(Numbers, AccumulatorsAreAsDocumented) {
  if (!rounds_once()) GTEST_SKIP() << "partial sums are rounded on the way";
  const auto f32 = reduce<float>(GetParam(), 3, 64, Op::sum, [](int r, Index) { return r == 0 ? 16777216.0F : 1.0F; });
  EXPECT_EQ(f32[0], 16777216.0F);
  const auto f64 = reduce<double>(GetParam(), 3, 64, Op::sum, [](int r, Index) { return r == 0 ? 16777216.0 : 1.0; });
  EXPECT_EQ(f64[63], 16777218.0);
  const auto half =
      reduce<f16>(GetParam(), 3, 64, Op::sum, [](int r, Index) { return from_float<f16>(r == 0 ? 2048 : 1); });
  EXPECT_EQ(to_float(half[7]), 2050.0F);
  const auto f8 =
      reduce<f8e4m3>(GetParam(), 3, 64, Op::sum, [](int r, Index) { return from_float<f8e4m3>(r == 0 ? 16 : 1); });
  EXPECT_EQ(to_float(f8[7]), 18.0F);
}

/// One division of the whole sum: neither of the terms nor by a rounded reciprocal.
TEST_P(Numbers, AverageDividesOnce) {
  constexpr Index count = 300;
  const auto input = [](int rank, Index i) { return static_cast<float>(i * 3 + rank); };
  const auto got = reduce<float>(GetParam(), 3, count, Op::avg, input);
  int telling = 0;
  for (Index i = 0; i < count; ++i) {
    const auto sum = static_cast<float>(9 * i + 3);
    EXPECT_EQ(got[static_cast<std::size_t>(i)], sum / 3.0F);
  }
  const auto odd = reduce<float>(GetParam(), 3, count, Op::avg,
                                 [](int rank, Index i) { return rank == 0 ? static_cast<float>(i) : 0.0F; });
  for (Index i = 0; i < count; ++i) {
    const auto sum = static_cast<float>(i);
    EXPECT_EQ(odd[static_cast<std::size_t>(i)], sum / 3.0F);
    telling += sum / 3.0F != sum * (1.0F / 3.0F) ? 1 : 0;
  }
  EXPECT_GT(telling, 0) << "the data cannot tell a division from a reciprocal";
  const auto whole =
      reduce<std::int32_t>(GetParam(), 3, 8, Op::avg, [](int rank, Index) { return rank == 0 ? -5 : 0; });
  EXPECT_EQ(whole[0], -1) << "integers divide truncating";
}

TEST_P(Numbers, IntegersWrap) {
  const auto i8 = reduce<std::int8_t>(GetParam(), 2, 70, Op::sum, [](int, Index) { return std::int8_t{100}; });
  EXPECT_EQ(i8[69], -56);
  const auto i32 = reduce<std::int32_t>(GetParam(), 3, 20, Op::sum,
                                        [](int, Index) { return std::numeric_limits<std::int32_t>::max(); });
  EXPECT_EQ(i32[19], static_cast<std::int32_t>(3U * 0x7FFFFFFFU));
  const auto u64 = reduce<std::uint64_t>(GetParam(), 3, 9, Op::prod, [](int, Index) { return ~std::uint64_t{0}; });
  EXPECT_EQ(u64[8], ~std::uint64_t{0});
}

TEST_P(Numbers, EightBitFloatsSaturate) {
  const auto e4 = reduce<f8e4m3>(GetParam(), 2, 70, Op::sum, [](int, Index) { return from_float<f8e4m3>(448); });
  EXPECT_EQ(to_float(e4[69]), 448.0F);
  const auto e5 = reduce<f8e5m2>(GetParam(), 2, 70, Op::sum, [](int, Index) { return from_float<f8e5m2>(-57344); });
  EXPECT_EQ(to_float(e5[69]), -57344.0F);
  const auto nan = reduce<f8e4m3>(GetParam(), 2, 70, Op::sum,
                                  [](int r, Index) { return f8e4m3{static_cast<std::uint8_t>(r == 0 ? 0x7F : 0x38)}; });
  EXPECT_TRUE(std::isnan(to_float(nan[0])));
}

/// NaN beats every number, wherever it is, and comes out as one pattern; −0 is less than +0.
TEST_P(Numbers, ExtremesFollowTheRule) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const auto input = [](int rank, Index i) {
    if (i % 4 == 0) return rank == i / 4 % 3 ? -nan : static_cast<float>(rank);
    if (i % 4 == 1) return rank == i / 4 % 3 ? -0.0F : 0.0F;
    return static_cast<float>(rank) - 1;
  };
  for (const Op op : {Op::min, Op::max}) {
    const auto got = reduce<float>(GetParam(), 3, 96, op, input);
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (i % 4 == 0) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(got[i]), 0x7FC00000U);
      } else if (i % 4 == 1) {
        EXPECT_EQ(got[i], 0);
        EXPECT_EQ(std::signbit(got[i]), op == Op::min);
      } else {
        EXPECT_EQ(got[i], op == Op::min ? -1 : 1);
      }
    }
  }
}

/// Magnitudes that cancel: any other order gives other bits, so all rank_order variants must agree to the bit, and
/// every rank with every other.
TEST_P(Numbers, CancellingSumsHaveTheSameBitsEverywhere) {
  constexpr Index count = 1001;
  constexpr int ranks = 7;
  const auto input = [](int rank, Index i) {
    const float magnitude =
        std::ldexp(1.0F + static_cast<float>(i % 13) / 16, static_cast<int>((rank * 11 + i) % 40) - 20);
    return (rank + i) % 2 == 0 ? magnitude : -magnitude;
  };
  const auto got = reduce<float>(GetParam(), ranks, count, Op::sum, input);
  if (!rounds_once()) return;
  for (Index i = 0; i < count; ++i) {
    float sum = input(0, i);
    for (int r = 1; r < ranks; ++r) sum += input(r, i);
    ASSERT_EQ(got[static_cast<std::size_t>(i)], sum) << "index " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Numbers, testing::ValuesIn(variants_to_test(false)),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace attune::conformance
