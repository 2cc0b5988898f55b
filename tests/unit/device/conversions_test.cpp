/// Lane-wise conversions and operations of packs are those of single elements, bit for bit: all 2^16 values of f16 and
/// bf16, all 2^8 of the 8-bit floats, and random floats. Built once per instruction set.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "device/epilogue.h"
#include "device/host_bf16.h"
#include "device/ops.h"
#include "device/views.h"

namespace attune {
namespace {

#if defined(__AVX2__)
using Isa = host::isa::avx2;
bool can_run() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"); }
#else
using Isa = host::isa::baseline;
bool can_run() { return true; }
#endif

template <class T>
using Packs = HostPack<T, Isa::native>;

template <class P, class T>
P load(const T* from) {
  P pack;
  std::memcpy(&pack, from, sizeof pack);
  return pack;
}

template <class T>
class Conversions : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_run()) GTEST_SKIP() << "not on this processor";
  }
};
using Types = testing::Types<f16, bf16, f8e4m3, f8e5m2>;
TYPED_TEST_SUITE(Conversions, Types);

TYPED_TEST(Conversions, WidenIsThatOfSingleElements) {
  using T = TypeParam;
  constexpr unsigned patterns = 1U << (8 * sizeof(T));
  constexpr int lanes = host_lanes<T>;
  T in[lanes];
  float out[lanes];
  for (unsigned first = 0; first < patterns; first += lanes) {
    for (unsigned k = 0; k < lanes; ++k) in[k].bits = static_cast<decltype(T::bits)>(first + k);
    const auto wide = widen(load<Packs<T>>(in));
    std::memcpy(out, &wide, sizeof out);
    for (unsigned k = 0; k < lanes; ++k) {
      const float want = to_float(in[k]);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(out[k])) << first + k;
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(out[k]), std::bit_cast<std::uint32_t>(want)) << first + k;
      }
    }
  }
}

TYPED_TEST(Conversions, NarrowIsThatOfSingleElements) {
  using T = TypeParam;
  constexpr int lanes = host_lanes<T>;
  using Wide = Pack<float, Packs<T>::lanes_per_part, Packs<T>::parts>;
  std::mt19937 random(7);
  float in[lanes];
  T out[lanes];
  for (int round = 0; round < (1 << 20) / lanes; ++round) {
    for (float& x : in) {
      const auto bits = static_cast<std::uint32_t>(random());
      x = std::bit_cast<float>(bits);  // all exponents, NaN and infinities
      if (bits % 3 == 0)
        x = to_float(T{static_cast<decltype(T::bits)>(bits >> 8)}) *
            (1 + std::ldexp(1.0F, -4 - static_cast<int>(bits % 8)));
      if (bits % 7 == 0) x = std::ldexp(static_cast<float>(bits >> 16), -24);
    }
    const auto narrowed = narrow<T>(load<Wide>(in));
    std::memcpy(out, &narrowed, sizeof out);
    for (int k = 0; k < lanes; ++k) ASSERT_EQ(out[k].bits, from_float<T>(in[k]).bits) << in[k];
  }
}

/// The rule of min and max on every pair of special values, and wrapping of integers.
template <class A>
std::vector<A> special() {
  using L = std::numeric_limits<A>;
  return {A{0},
          static_cast<A>(-A{0}),
          L::infinity(),
          -L::infinity(),
          L::quiet_NaN(),
          -L::quiet_NaN(),
          L::denorm_min(),
          -L::denorm_min(),
          L::max(),
          L::lowest(),
          A{1},
          A{-1}};
}
template <class A>
void check_extremes() {
  constexpr int lanes = host_lanes<A>;
  for (const A a : special<A>())
    for (const A b : special<A>()) {
      std::vector<A> x(lanes, a);
      std::vector<A> y(lanes, b);
      const auto least = Min{}(load<Packs<A>>(x.data()), load<Packs<A>>(y.data()));
      const auto most = Max{}(load<Packs<A>>(x.data()), load<Packs<A>>(y.data()));
      A low;
      A high;
      std::memcpy(&low, &least, sizeof low);
      std::memcpy(&high, &most, sizeof high);
      if (std::isnan(a) || std::isnan(b)) {
        const A nan = std::numeric_limits<A>::quiet_NaN();
        EXPECT_EQ(std::memcmp(&low, &nan, sizeof nan), 0);
        EXPECT_EQ(std::memcmp(&high, &nan, sizeof nan), 0);
      } else {
        EXPECT_EQ(low, std::min(a, b));
        EXPECT_EQ(high, std::max(a, b));
        if (a == 0 && b == 0) {
          EXPECT_EQ(std::signbit(low), std::signbit(a) || std::signbit(b));
          EXPECT_EQ(std::signbit(high), std::signbit(a) && std::signbit(b));
        }
      }
    }
}
TEST(Extremes, FollowTheRuleOnSpecialValues) {
  if (!can_run()) GTEST_SKIP() << "not on this processor";
  check_extremes<float>();
  check_extremes<double>();
}

template <class A>
void check_wrapping() {
  using U = std::make_unsigned_t<A>;
  constexpr int lanes = host_lanes<A>;
  std::mt19937_64 random(3);
  std::vector<A> x(lanes);
  std::vector<A> y(lanes);
  std::vector<A> z(lanes);
  for (int round = 0; round < 500; ++round) {
    for (auto& v : x) v = static_cast<A>(random());
    for (auto& v : y) v = static_cast<A>(random());
    const auto sum = Sum{}(load<Packs<A>>(x.data()), load<Packs<A>>(y.data()));
    std::memcpy(z.data(), &sum, sizeof sum);
    for (std::size_t k = 0; k < z.size(); ++k)
      ASSERT_EQ(z[k],
                static_cast<A>(static_cast<U>(static_cast<std::uint64_t>(x[k]) + static_cast<std::uint64_t>(y[k]))));
    const auto product = Prod{}(load<Packs<A>>(x.data()), load<Packs<A>>(y.data()));
    std::memcpy(z.data(), &product, sizeof product);
    for (std::size_t k = 0; k < z.size(); ++k)
      ASSERT_EQ(z[k],
                static_cast<A>(static_cast<U>(static_cast<std::uint64_t>(x[k]) * static_cast<std::uint64_t>(y[k]))));
  }
}
TEST(Integers, Wrap) {
  if (!can_run()) GTEST_SKIP() << "not on this processor";
  check_wrapping<std::int8_t>();
  check_wrapping<std::uint8_t>();
  check_wrapping<std::int32_t>();
  check_wrapping<std::uint32_t>();
  check_wrapping<std::int64_t>();
  check_wrapping<std::uint64_t>();
}

/// A tail loads zeros behind the last lane and stores nothing there.
template <class T>
void check_tails() {
  constexpr int lanes = host_lanes<T>;
  for (int count = 1; count < lanes; ++count) {
    std::vector<T> from(lanes, T{7});
    std::vector<T> to(lanes, T{9});
    const host::Tail<Isa, T> at{0, count};
    const auto pack = host::View<T, host::Role::input>{from.data()}.load(at);
    T loaded[lanes];
    std::memcpy(loaded, &pack, sizeof loaded);
    host::View<T, host::Role::output>{to.data()}.store(at, pack);
    for (int k = 0; k < lanes; ++k) {
      EXPECT_EQ(loaded[k], k < count ? 7 : 0);
      EXPECT_EQ(to[static_cast<std::size_t>(k)], k < count ? 7 : 9);
    }
  }
}
TEST(Tails, TouchNothingBehindTheLastLane) {
  if (!can_run()) GTEST_SKIP() << "not on this processor";
  check_tails<std::int8_t>();
  check_tails<float>();
  check_tails<double>();
}

#if defined(__AVX2__)
/// The sum of bf16 that does not sort lanes has the bits of the one that does, NaNs, infinities and subnormals
/// included.
TEST(Bf16Sums, AreThoseOfPacks) {
  if (!can_run()) GTEST_SKIP() << "not on this processor";
  constexpr int lanes = host_lanes<bf16>;
  const Team<3> team(0, 3);
  const host::Full<Isa, bf16, false> at{0, false};
  std::mt19937 random(4);
  for (int round = 0; round < 20000; ++round) {
    bf16 in[3][lanes];
    std::array<host::View<bf16, host::Role::input>, 3> terms{};
    for (std::size_t r = 0; r < 3; ++r) {
      terms[r].data = in[r];
      for (auto& x : in[r]) x.bits = static_cast<std::uint16_t>(round % 2 == 0 ? random() : 0x3F00 + random() % 512);
    }
    auto packs = widen(terms[0].load(at));
    for (std::size_t r = 1; r < 3; ++r) packs = Sum{}(packs, widen(terms[r].load(at)));
    const auto want = narrow<bf16>(Average{3}(at, packs));
    const auto got = host::narrow<bf16>(Average{3}(at, sum_over(team, terms, at, Sum{})));
    ASSERT_EQ(std::memcmp(&got, &want, sizeof want), 0) << round;
  }
}
#endif

}  // namespace
}  // namespace attune
