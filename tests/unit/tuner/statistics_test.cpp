// Statistics against published tables, brute force, and simulated coverage.
#include "tuner/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "core/error.h"

namespace attune::tuner {
namespace {

using Values = std::vector<double>;

TEST(Median, OfOddEvenAndNone) {
  EXPECT_EQ(median(Values{3, 1, 2}), 2);
  EXPECT_EQ(median(Values{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median(Values{7}), 7);
  EXPECT_THROW((void)median(Values{}), Error);
}

TEST(Percentile, InterpolatesAsTypeSeven) {
  EXPECT_EQ(percentile(Values{1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(percentile(Values{4, 3, 2, 1}, 0.95), 3.85);
  EXPECT_EQ(percentile(Values{1, 2, 3, 4}, 0), 1);
  EXPECT_EQ(percentile(Values{1, 2, 3, 4}, 1), 4);
}

TEST(GeometricMean, OfKnownValues) { EXPECT_DOUBLE_EQ(geometric_mean(Values{1, 2, 4}), 2); }

TEST(Ranks, TiesShareTheirMean) { EXPECT_EQ(ranks_of(Values{10, 30, 20, 20, 5}), (Values{2, 5, 3.5, 3.5, 1})); }

/// The table that textbooks print for 95 %.
TEST(MedianIndices, AreThePublishedOnes) {
  const int table[][3] = {{6, 1, 6},    {10, 2, 9},    {20, 6, 15},    {30, 10, 21},
                          {50, 18, 33}, {100, 40, 61}, {200, 86, 115}, {1000, 469, 532}};
  for (const auto& [n, low, high] : table) {
    const auto indices = median_indices(n, 0.95);
    ASSERT_TRUE(indices) << n;
    EXPECT_EQ(indices->low, low) << n;
    EXPECT_EQ(indices->high, high) << n;
    EXPECT_GE(indices->coverage, 0.95);
  }
  EXPECT_NEAR(median_indices(6, 0.95)->coverage, 0.96875, 1e-9);
}

TEST(MedianIndices, NeedSixSamplesAt95AndEightAt99) {
  for (int n = 0; n < 6; ++n) EXPECT_FALSE(median_indices(n, 0.95)) << n;
  for (int n = 0; n < 8; ++n) EXPECT_FALSE(median_indices(n, 0.99)) << n;
  EXPECT_TRUE(median_indices(8, 0.99));
}

/// Exact coverage by brute force: every subset of n fair coins.
TEST(MedianIndices, CoverageIsExact) {
  for (int n = 6; n <= 16; ++n) {
    const auto indices = median_indices(n, 0.95);
    int inside = 0;
    for (unsigned coins = 0; coins < (1U << n); ++coins) {
      const int below = std::popcount(coins);
      inside += below >= indices->low && below < indices->high ? 1 : 0;
    }
    EXPECT_NEAR(indices->coverage, inside / std::pow(2.0, n), 1e-9) << n;
    const int next = indices->low + 1;  // one step narrower must miss the confidence
    int narrower = 0;
    for (unsigned coins = 0; coins < (1U << n); ++coins) {
      const int below = std::popcount(coins);
      narrower += below >= next && below < n + 1 - next ? 1 : 0;
    }
    EXPECT_LT(narrower / std::pow(2.0, n), 0.95) << n;
  }
}

TEST(EstimateMedian, CoversTheTruthAsPromised) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> noise(0, 0.5);  // skewed, median 1
  int covered = 0;
  constexpr int rounds = 4000;
  for (int round = 0; round < rounds; ++round) {
    Values values(25);
    for (double& value : values) value = noise(random);
    covered += median_interval(values, 0.99)->contains(1.0) ? 1 : 0;
  }
  EXPECT_GT(covered, rounds * 0.985);
}

TEST(EstimateMedian, WidensForDependentSamples) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> noise(0, 0.1);
  Values independent(300), dependent(300);
  double state = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    independent[i] = 10 + noise(random);
    state = 0.9 * state + noise(random);
    dependent[i] = 10 + state;
  }
  const auto free = estimate_median(independent, 0.99);
  const auto bound = estimate_median(dependent, 0.99);
  EXPECT_FALSE(free.blocked);
  EXPECT_LT(std::abs(free.autocorrelation), 0.2);
  EXPECT_TRUE(bound.blocked);
  EXPECT_GT(bound.autocorrelation, 0.7);
  const auto naive = median_interval(dependent, 0.99);
  EXPECT_GT(bound.interval->high - bound.interval->low, naive->high - naive->low);
  EXPECT_LT(free.relative_half_width(), 0.01);
}

TEST(EstimateMedian, HasNoIntervalFromTooFewSamples) {
  EXPECT_TRUE(std::isinf(estimate_median(Values{1, 2, 3}, 0.99).relative_half_width()));
  EXPECT_EQ(estimate_median(Values{1, 2, 3}, 0.99).median, 2);
}

TEST(Autocorrelation, OfKnownSequences) {
  EXPECT_EQ(lag1_autocorrelation(Values{1, 1, 1, 1}), 0);
  EXPECT_EQ(lag1_autocorrelation(Values{1, 2}), 0);
  Values rising(50), alternating(50);
  for (std::size_t i = 0; i < 50; ++i) rising[i] = static_cast<double>(i), alternating[i] = static_cast<double>(i % 2);
  EXPECT_GT(lag1_autocorrelation(rising), 0.9);
  EXPECT_LT(lag1_autocorrelation(alternating), -0.9);
}

/// Critical values of the signed-rank test (one-sided 0.05 and 0.01), as tables print them.
TEST(Wilcoxon, HasThePublishedCriticalValues) {
  struct Critical {
    int n, at_05, at_01;
  };
  for (const auto& [n, at_05, at_01] : {Critical{8, 5, 1}, {10, 10, 5}, {12, 17, 9}, {20, 60, 43}, {30, 151, 120}}) {
    // Differences 1…n; those with the given rank sum are positive: the smallest ranks that add up to it.
    const auto p_with_positive_sum = [n = n](int sum) {
      Values differences;
      for (int rank = n; rank >= 1; --rank) {
        const bool positive = rank <= sum;
        if (positive) sum -= rank;
        differences.push_back(positive ? rank : -rank);
      }
      return wilcoxon_signed_rank(differences, Tail::less);
    };
    EXPECT_LE(p_with_positive_sum(at_05), 0.05) << n;
    EXPECT_GT(p_with_positive_sum(at_05 + 1), 0.05) << n;
    EXPECT_LE(p_with_positive_sum(at_01), 0.01) << n;
    EXPECT_GT(p_with_positive_sum(at_01 + 1), 0.01) << n;
  }
}

/// With ties and zeros: equal to counting over all signs.
TEST(Wilcoxon, EqualsBruteForceWithTies) {
  const Values differences{0.5, -0.5, 1, 1, -1, 2, 3, 3, 0, 4};
  Values kept, sizes;
  for (const double d : differences)
    if (d != 0) kept.push_back(d), sizes.push_back(std::abs(d));
  const Values ranks = ranks_of(sizes);
  double observed = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) observed += kept[i] > 0 ? ranks[i] : 0;
  int less = 0, greater = 0;
  const unsigned all = 1U << kept.size();
  for (unsigned signs = 0; signs < all; ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) sum += (signs >> i & 1U) != 0 ? ranks[i] : 0;
    less += sum <= observed ? 1 : 0;
    greater += sum >= observed ? 1 : 0;
  }
  EXPECT_NEAR(wilcoxon_signed_rank(differences, Tail::less), static_cast<double>(less) / all, 1e-12);
  EXPECT_NEAR(wilcoxon_signed_rank(differences, Tail::greater), static_cast<double>(greater) / all, 1e-12);
}

TEST(Wilcoxon, TheApproximationJoinsTheExactTest) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0.15, 1);
  Values differences(60);
  for (double& difference : differences) difference = noise(random);
  const double exact = wilcoxon_signed_rank(differences, Tail::both);
  differences.push_back(1e-9);  // the smallest rank: hardly a change, but above the exact range
  EXPECT_NEAR(wilcoxon_signed_rank(differences, Tail::both), exact, 0.02);
  EXPECT_EQ(wilcoxon_signed_rank(Values{0, 0}, Tail::both), 1);
}

TEST(RankSum, OfKnownCounts) {
  const std::vector<double> low{1, 2, 3}, high{4, 5, 6}, mixed{2.5, 5, 6};
  EXPECT_DOUBLE_EQ(rank_sum_less(low, high), 1.0 / 20) << "one order of (6 choose 3)";
  EXPECT_DOUBLE_EQ(rank_sum_less(low, mixed), 2.0 / 20);
  EXPECT_DOUBLE_EQ(rank_sum_less(high, low), 1);
  EXPECT_DOUBLE_EQ(rank_sum_less(low, low), 0.8) << "equal values speak against: 6 of 9 pairs";
  std::vector<double> many, above;
  for (int i = 0; i < 40; ++i) many.push_back(i), above.push_back(i + 20);
  EXPECT_LT(rank_sum_less(many, above), 1e-6);
  EXPECT_GT(rank_sum_less(above, many), 1 - 1e-6);
  EXPECT_NEAR(rank_sum_less(many, many), 0.58, 0.02);
}

TEST(SignTest, OfKnownCounts) {
  EXPECT_DOUBLE_EQ(sign_test(Values{1, 1, 1, 1, 1, 1}, Tail::greater), 1.0 / 64);
  EXPECT_NEAR(sign_test(Values{1, 1, 1, 1, 1, 1, 1, 1, 1, -1}, Tail::both), 2 * 11.0 / 1024, 1e-12);
  EXPECT_EQ(sign_test(Values{0, 0}, Tail::both), 1);
}

TEST(HodgesLehmann, MatchesAWorkedExample) {
  // Walsh averages of {1, 2, 4}: 1, 1.5, 2.5, 2, 3, 4; their median is 2.25.
  EXPECT_DOUBLE_EQ(hodges_lehmann(Values{1, 2, 4}, 0.95).shift, 2.25);
  EXPECT_FALSE(hodges_lehmann(Values{1, 2, 4}, 0.95).interval);
  EXPECT_TRUE(hodges_lehmann(Values{1, 2, 3, 4, 5, 6}, 0.95).interval);
  EXPECT_FALSE(hodges_lehmann(Values{1, 2, 3, 4, 5, 6, 7}, 0.99).interval);
  EXPECT_TRUE(hodges_lehmann(Values{1, 2, 3, 4, 5, 6, 7, 8}, 0.99).interval);
}

TEST(HodgesLehmann, TheIntervalExcludesZeroExactlyWhenTheTestRejects) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> noise(0.5, 1);
  for (int round = 0; round < 500; ++round) {
    Values differences(8 + round % 20);
    for (double& difference : differences) difference = noise(random);
    const auto estimate = hodges_lehmann(differences, 0.95);
    ASSERT_EQ(!estimate.interval->contains(0), wilcoxon_signed_rank(differences, Tail::both) <= 0.05) << round;
  }
}

TEST(HodgesLehmann, CoversTheTruthForManyPairsToo) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0.3, 1);
  for (const std::size_t n : {10U, 80U, 1000U}) {
    int covered = 0;
    for (int round = 0; round < 300; ++round) {
      Values differences(n);
      for (double& difference : differences) difference = noise(random);
      covered += hodges_lehmann(differences, 0.95).interval->contains(0.3) ? 1 : 0;
    }
    EXPECT_GE(covered, 300 * 0.91) << n;
  }
}

TEST(Bootstrap, AgreesWithTheExactIntervalAndItsSeed) {
  std::mt19937_64 random(6);
  std::lognormal_distribution<double> noise(0, 0.3);
  Values values(100);
  for (double& value : values) value = noise(random);
  const Interval bootstrap = bootstrap_median(values, 0.95, 2000, 7);
  const Interval exact = *median_interval(values, 0.95);
  EXPECT_NEAR(bootstrap.low, exact.low, 0.05);
  EXPECT_NEAR(bootstrap.high, exact.high, 0.05);
  EXPECT_EQ(bootstrap, bootstrap_median(values, 0.95, 2000, 7));
}

TEST(LogRatios, PairElementwise) {
  EXPECT_NEAR(log_ratios(Values{2, 1}, Values{1, 2})[0], std::log(2), 1e-15);
  EXPECT_THROW((void)log_ratios(Values{1}, Values{}), Error);
}

}  // namespace
}  // namespace attune::tuner
