#pragma once
/// The statistics that decisions rest on: distribution-free, because run times are skewed, have outliers and modes.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attune::tuner {

struct Interval {
  double low = 0;
  double high = 0;
  [[nodiscard]] bool contains(double value) const { return low <= value && value <= high; }
  bool operator==(const Interval&) const = default;
};

/// Middle value; the mean of the two middle ones for even counts. Throws Error(internal) for an empty list, like all
/// functions here that need a value.
[[nodiscard]] double median(std::span<const double> values);
/// By linear interpolation between order statistics (Hyndman & Fan, type 7); `fraction` from 0 to 1.
[[nodiscard]] double percentile(std::span<const double> values, double fraction);
/// exp of the mean logarithm; values above 0.
[[nodiscard]] double geometric_mean(std::span<const double> values);
/// Ranks from 1; equal values share the mean of their ranks.
[[nodiscard]] std::vector<double> ranks_of(std::span<const double> values);

/// Which order statistics (from 1) enclose the median of a population with at least `confidence`, from n independent
/// samples: exact, by the binomial distribution. Nothing if n is too small (below 6 at 95 %, 8 at 99 %).
struct MedianIndices {
  int low = 0;
  int high = 0;
  double coverage = 0;
};
[[nodiscard]] std::optional<MedianIndices> median_indices(int n, double confidence);
/// The interval of the median by order statistics, for independent samples. Nothing if there are too few.
[[nodiscard]] std::optional<Interval> median_interval(std::span<const double> values, double confidence);

/// Correlation of each sample's rank with the next one's; 0 for fewer than 3 samples or all equal ones.
[[nodiscard]] double lag1_autocorrelation(std::span<const double> values);

/// A median and how sure it is. Samples that depend on their predecessors (autocorrelation of ranks above 0.2) are
/// first reduced to medians of blocks of 10, which shrinks the count that the interval is made of.
struct MedianEstimate {
  double median = 0;
  std::optional<Interval> interval;  ///< Nothing: too few (blocks of) samples.
  int samples = 0;
  double autocorrelation = 0;
  bool blocked = false;

  /// Half the interval over the median; infinite without an interval.
  [[nodiscard]] double relative_half_width() const;
};
[[nodiscard]] MedianEstimate estimate_median(std::span<const double> values, double confidence);

/// ln(a[i] / b[i]): what paired comparisons work on. Lists of equal length, values above 0.
[[nodiscard]] std::vector<double> log_ratios(std::span<const double> a, std::span<const double> b);

enum class Tail : std::uint8_t { less, greater, both };
/// P-value of Wilcoxon's signed-rank test that the differences' median is 0 against the tail given. Zeros are dropped,
/// ties share ranks. Exact up to 60 differences (ties included), a normal approximation with corrections above.
[[nodiscard]] double wilcoxon_signed_rank(std::span<const double> differences, Tail tail);
/// P-value of the sign test, exact; zeros are dropped.
[[nodiscard]] double sign_test(std::span<const double> differences, Tail tail);

/// P-value of the rank-sum test (Mann and Whitney) that `a` is not below `b`, for independent samples. Equal values
/// speak against it. Exact up to 60 samples in all, a normal approximation above.
[[nodiscard]] double rank_sum_less(std::span<const double> a, std::span<const double> b);

/// The Hodges-Lehmann estimate (median of all pairwise means) with the interval that inverts the signed-rank test.
/// For symmetric noise it needs a third fewer pairs than the median of differences. No interval: too few pairs
/// (below 6 at 95 %, 8 at 99 %). More than 200 pairs are first thinned to medians of blocks.
struct ShiftEstimate {
  double shift = 0;
  std::optional<Interval> interval;
  int pairs = 0;
};
[[nodiscard]] ShiftEstimate hodges_lehmann(std::span<const double> differences, double confidence);

/// Percentile bootstrap interval of the median, deterministic by seed.
[[nodiscard]] Interval bootstrap_median(std::span<const double> values, double confidence, int resamples,
                                        std::uint64_t seed);

}  // namespace attune::tuner
