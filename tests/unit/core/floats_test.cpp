/// Conversions of the narrow floats against an oracle that knows nothing of bit tricks: the sorted list of all values
/// of the format, searched for the nearest.
#include "core/floats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace attune {
namespace {

template <class T>
constexpr bool saturates() {
  if constexpr (requires { SmallFloat<T>::saturates; }) return SmallFloat<T>::saturates;
  return false;
}

/// All finite values ≥ 0 of T in order, with their bits; the place in the list is the magnitude.
template <class T>
std::vector<double> finite_values() {
  std::vector<double> values;
  constexpr unsigned patterns = 1U << (8 * sizeof(T) - 1);
  for (unsigned bits = 0; bits < patterns; ++bits) {
    const float value = to_float(T{static_cast<decltype(T::bits)>(bits)});
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

/// The bits of the nearest value, ties to the even one; beyond the largest by half a step: infinity, or the largest.
template <class T>
unsigned nearest(const std::vector<double>& values, float x) {
  constexpr unsigned sign = 1U << (8 * sizeof(T) - 1);
  const unsigned negative = std::signbit(x) ? sign : 0;
  const double magnitude = std::fabs(static_cast<double>(x));
  const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
  const auto up = static_cast<unsigned>(above - values.begin());
  if (above == values.end()) {
    const double step = values.back() - values[values.size() - 2];
    const bool over = magnitude >= values.back() + step / 2;
    return negative | static_cast<unsigned>(over && !saturates<T>() ? values.size() : values.size() - 1);
  }
  if (up == 0) return negative;
  const double lower = values[up - 1];
  const double upper = *above;
  if (magnitude - lower < upper - magnitude) return negative | (up - 1);
  if (magnitude - lower > upper - magnitude) return negative | up;
  return negative | (up % 2 == 0 ? up : up - 1);
}

template <class T>
class NarrowFloats : public testing::Test {};
using Types = testing::Types<f16, bf16, f8e4m3, f8e5m2>;
TYPED_TEST_SUITE(NarrowFloats, Types);

TYPED_TEST(NarrowFloats, EveryValueSurvivesTheWayThroughFloat) {
  for (unsigned bits = 0; bits < 1U << (8 * sizeof(TypeParam)); ++bits) {
    const TypeParam value{static_cast<decltype(TypeParam::bits)>(bits)};
    const float wide = to_float(value);
    const TypeParam back = from_float<TypeParam>(wide);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_float(back)));
    } else if (std::isinf(wide) && saturates<TypeParam>()) {
      EXPECT_TRUE(std::isfinite(to_float(back))) << "infinities saturate, too";
    } else {
      EXPECT_EQ(back.bits, value.bits);
    }
  }
}

TYPED_TEST(NarrowFloats, FiniteValuesAreInOrder) {
  const auto values = finite_values<TypeParam>();
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  EXPECT_EQ(values[0], 0);
}

TYPED_TEST(NarrowFloats, RoundToTheNearestAndTiesToEven) {
  const auto values = finite_values<TypeParam>();
  std::mt19937 random(1);
  std::vector<float> inputs{0.0F,  -0.0F, 1e-45F, 3.4e38F, std::numeric_limits<float>::infinity(),
                            448,   463,   464,    465,     480,
                            57344, 61439, 61440,  65504,   65519,
                            65520, 65536};
  for (int k = 0; k < 60000; ++k) inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  for (int k = 0; k < 20000; ++k) {  // around the values and the middles between them
    const std::size_t at = random() % (values.size() - 1);
    const auto middle = static_cast<float>((values[at] + values[at + 1]) / 2);
    inputs.insert(inputs.end(), {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e38F)});
  }
  for (const float x : inputs)
    for (const float y : {x, -x}) {
      const TypeParam got = from_float<TypeParam>(y);
      if (std::isnan(y)) {
        ASSERT_TRUE(std::isnan(to_float(got)));
      } else {
        ASSERT_EQ(got.bits, nearest<TypeParam>(values, y)) << y;
      }
    }
}

}  // namespace
}  // namespace attune
