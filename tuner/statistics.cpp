#include "tuner/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "core/error.h"

namespace attune::tuner {
namespace {

constexpr double dependent_above = 0.2;  ///< Lag-1 autocorrelation from which samples count as dependent.
constexpr std::size_t block_length = 10;

void require_values(std::span<const double> values, const char* what) {
  if (values.empty()) throw Error(Status::internal, std::string(what) + " of no values");
}

/// Reorders `values`.
double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::vector<double> block_medians(std::span<const double> values) {
  std::vector<double> medians;
  for (std::size_t first = 0; first + block_length <= values.size(); first += block_length)
    medians.push_back(median(values.subspan(first, block_length)));
  return medians;
}

}  // namespace

double median(std::span<const double> values) {
  require_values(values, "median");
  std::vector<double> copy(values.begin(), values.end());
  return median_of(copy);
}

double percentile(std::span<const double> values, double fraction) {
  require_values(values, "percentile");
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double position = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

double geometric_mean(std::span<const double> values) {
  require_values(values, "geometric mean");
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    const double shared = static_cast<double>(first + last) / 2 + 1;
    for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = shared;
    first = last + 1;
  }
  return ranks;
}

std::optional<MedianIndices> median_indices(int n, double confidence) {
  // Of n samples Binomial(n, 1/2) fall below the median. The interval (l, n+1-l) misses it on one side with
  // probability P(fewer than l below): the largest l for which both sides together stay within 1 - confidence.
  const double most = (1 - confidence) / 2 * (1 + 1e-12);
  // What lies 10 standard deviations below the middle adds nothing that a double can hold.
  const int first = std::max(0, static_cast<int>(n / 2.0 - 5 * std::sqrt(static_cast<double>(n))));
  double probability =
      std::exp(std::lgamma(n + 1.0) - std::lgamma(first + 1.0) - std::lgamma(n - first + 1.0) - n * std::log(2.0));
  double below = 0;
  int low = 0;
  double missed = 0;
  for (int i = first; i < (n + 1) / 2; ++i) {
    below += probability;
    if (below > most) break;
    low = i + 1;
    missed = below;
    probability *= static_cast<double>(n - i) / (i + 1);
  }
  if (low == 0) return std::nullopt;
  return MedianIndices{low, n + 1 - low, 1 - 2 * missed};
}

std::optional<Interval> median_interval(std::span<const double> values, double confidence) {
  const auto indices = median_indices(static_cast<int>(values.size()), confidence);
  if (!indices) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return Interval{sorted[static_cast<std::size_t>(indices->low - 1)],
                  sorted[static_cast<std::size_t>(indices->high - 1)]};
}

double lag1_autocorrelation(std::span<const double> values) {
  if (values.size() < 3) return 0;
  const std::vector<double> ranks = ranks_of(values);
  const double mean = static_cast<double>(values.size() + 1) / 2;
  double together = 0;
  double alone = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    alone += (ranks[i] - mean) * (ranks[i] - mean);
    if (i + 1 < ranks.size()) together += (ranks[i] - mean) * (ranks[i + 1] - mean);
  }
  return alone > 0 ? together / alone : 0;
}

double MedianEstimate::relative_half_width() const {
  if (!interval || median <= 0) return std::numeric_limits<double>::infinity();
  return (interval->high - interval->low) / 2 / median;
}

MedianEstimate estimate_median(std::span<const double> values, double confidence) {
  MedianEstimate estimate;
  estimate.median = median(values);
  estimate.samples = static_cast<int>(values.size());
  estimate.autocorrelation = lag1_autocorrelation(values);
  // Below two blocks there is nothing to reduce, and the coefficient is mostly chance.
  estimate.blocked = estimate.autocorrelation > dependent_above && values.size() >= 2 * block_length;
  estimate.interval =
      estimate.blocked ? median_interval(block_medians(values), confidence) : median_interval(values, confidence);
  return estimate;
}

std::vector<double> log_ratios(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw Error(Status::internal, "paired comparison of lists that differ in length");
  std::vector<double> ratios(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) ratios[i] = std::log(a[i] / b[i]);
  return ratios;
}

Interval bootstrap_median(std::span<const double> values, double confidence, int resamples, std::uint64_t seed) {
  require_values(values, "bootstrap");
  std::mt19937_64 random(seed);
  std::vector<double> medians;
  std::vector<double> resample(values.size());
  for (int round = 0; round < resamples; ++round) {
    for (double& value : resample) value = values[random() % values.size()];
    medians.push_back(median_of(resample));
  }
  return {percentile(medians, (1 - confidence) / 2), percentile(medians, (1 + confidence) / 2)};
}

}  // namespace attune::tuner
