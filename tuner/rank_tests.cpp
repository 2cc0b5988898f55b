/// Paired tests by signs and ranks, and the estimate that inverts one of them.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tuner/statistics.h"

namespace attune::tuner {
namespace {

constexpr std::size_t exact_up_to = 60;
constexpr std::size_t most_pairs = 200;

double normal_below(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

/// z with P(N(0,1) < z) = p, by bisection: called rarely.
double normal_quantile(double p) {
  double low = -40;
  double high = 40;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (normal_below(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Distribution of the sum of those weights whose fair coin shows heads: probability by sum.
std::vector<double> subset_sums(const std::vector<int>& weights) {
  std::size_t total = 0;
  for (const int weight : weights) total += static_cast<std::size_t>(weight);
  std::vector<double> probability(total + 1, 0);
  probability[0] = 1;
  std::size_t reached = 0;
  for (const int weight : weights) {
    const auto step = static_cast<std::size_t>(weight);
    reached += step;
    for (std::size_t sum = reached + 1; sum-- > 0;)
      probability[sum] = (probability[sum] + (sum >= step ? probability[sum - step] : 0)) / 2;
  }
  return probability;
}

double tail_of(double p_less, double p_greater, Tail tail) {
  if (tail == Tail::less) return std::min(1.0, p_less);
  if (tail == Tail::greater) return std::min(1.0, p_greater);
  return std::min(1.0, 2 * std::min(p_less, p_greater));
}

std::vector<double> without_zeros(std::span<const double> differences) {
  std::vector<double> kept;
  std::ranges::copy_if(differences, std::back_inserter(kept), [](double difference) { return difference != 0; });
  return kept;
}

/// Variance of the signed-rank sum, given the (shared) ranks.
double rank_variance(const std::vector<double>& ranks) {
  double sum = 0;
  for (const double rank : ranks) sum += rank * rank;
  return sum / 4;
}

std::vector<double> thinned(std::span<const double> differences) {
  const std::size_t block = (differences.size() + most_pairs - 1) / most_pairs;
  std::vector<double> medians;
  for (std::size_t first = 0; first + block <= differences.size(); first += block)
    medians.push_back(median(differences.subspan(first, block)));
  return medians;
}

/// The k-th smallest and k-th largest Walsh average bound the shift: largest k with P(sum of ranks < k) <= tail.
/// 0: even the outermost averages bound it with less confidence than asked.
std::size_t walsh_index(std::size_t n, double tail) {
  if (n > exact_up_to) {
    const auto count = static_cast<double>(n);
    const double deviation = std::sqrt(count * (count + 1) * (2 * count + 1) / 24);
    return static_cast<std::size_t>(
        std::max(0.0, std::floor(count * (count + 1) / 4 + normal_quantile(tail) * deviation)));
  }
  std::vector<int> ranks;
  for (std::size_t rank = 1; rank <= n; ++rank) ranks.push_back(static_cast<int>(rank));
  const std::vector<double> probability = subset_sums(ranks);
  double below = 0;
  std::size_t index = 0;
  while (index < probability.size() && below + probability[index] <= tail * (1 + 1e-12)) below += probability[index++];
  return index;
}

}  // namespace

double wilcoxon_signed_rank(std::span<const double> differences, Tail tail) {
  const std::vector<double> kept = without_zeros(differences);
  if (kept.empty()) return 1;
  std::vector<double> sizes(kept.size());
  std::ranges::transform(kept, sizes.begin(), [](double difference) { return std::abs(difference); });
  const std::vector<double> ranks = ranks_of(sizes);
  double positive = 0;
  double total = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    positive += kept[i] > 0 ? ranks[i] : 0;
    total += ranks[i];
  }
  if (kept.size() > exact_up_to) {
    const double deviation = std::sqrt(rank_variance(ranks));
    const double less = normal_below((positive + 0.5 - total / 2) / deviation);
    const double greater = normal_below(-(positive - 0.5 - total / 2) / deviation);
    return tail_of(less, greater, tail);
  }
  std::vector<int> doubled;  // shared ranks are halves
  for (const double rank : ranks) doubled.push_back(static_cast<int>(std::lround(2 * rank)));
  const std::vector<double> probability = subset_sums(doubled);
  const auto observed = static_cast<std::size_t>(std::lround(2 * positive));
  double less = 0;
  double greater = 0;
  for (std::size_t sum = 0; sum < probability.size(); ++sum) {
    if (sum <= observed) less += probability[sum];
    if (sum >= observed) greater += probability[sum];
  }
  return tail_of(less, greater, tail);
}

double sign_test(std::span<const double> differences, Tail tail) {
  const std::vector<double> kept = without_zeros(differences);
  const auto n = static_cast<int>(kept.size());
  const auto positive = static_cast<int>(std::ranges::count_if(kept, [](double difference) { return difference > 0; }));
  double less = 0;
  double greater = 0;
  for (int i = 0; i <= n; ++i) {
    const double probability =
        std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) - n * std::log(2.0));
    if (i <= positive) less += probability;
    if (i >= positive) greater += probability;
  }
  return tail_of(less, greater, tail);
}

double rank_sum_less(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return 1;
  std::size_t above = 0;  // pairs that speak against
  for (const double one : a)
    above += static_cast<std::size_t>(std::ranges::count_if(b, [&](double other) { return one >= other; }));
  const std::size_t m = a.size(), n = b.size();
  if (m + n > exact_up_to) {
    const auto left = static_cast<double>(m), right = static_cast<double>(n);
    const double deviation = std::sqrt(left * right * (left + right + 1) / 12);
    return normal_below((static_cast<double>(above) + 0.5 - left * right / 2) / deviation);
  }
  // How many orders of i samples of one and j of the other have u such pairs: the largest is of either.
  std::vector<std::vector<std::vector<double>>> orders(m + 1, std::vector<std::vector<double>>(n + 1));
  for (std::size_t i = 0; i <= m; ++i)
    for (std::size_t j = 0; j <= n; ++j) {
      std::vector<double>& here = orders[i][j];
      here.assign(i * j + 1, i == 0 || j == 0 ? 1 : 0);
      if (i == 0 || j == 0) continue;
      for (std::size_t u = 0; u < orders[i][j - 1].size(); ++u) here[u] += orders[i][j - 1][u];
      for (std::size_t u = 0; u < orders[i - 1][j].size(); ++u) here[u + j] += orders[i - 1][j][u];
    }
  double as_few = 0, all = 0;
  for (std::size_t u = 0; u < orders[m][n].size(); ++u) {
    all += orders[m][n][u];
    if (u <= above) as_few += orders[m][n][u];
  }
  return as_few / all;
}

ShiftEstimate hodges_lehmann(std::span<const double> differences, double confidence) {
  if (differences.empty()) throw Error(Status::internal, "Hodges-Lehmann estimate of no differences");
  const std::vector<double> values = differences.size() > most_pairs
                                         ? thinned(differences)
                                         : std::vector<double>(differences.begin(), differences.end());
  std::vector<double> walsh;
  walsh.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i; j < values.size(); ++j) walsh.push_back((values[i] + values[j]) / 2);
  ShiftEstimate estimate;
  estimate.pairs = static_cast<int>(differences.size());
  const std::size_t index = walsh_index(values.size(), (1 - confidence) / 2);
  if (index > 0) {
    const auto low = walsh.begin() + static_cast<std::ptrdiff_t>(index - 1);
    std::nth_element(walsh.begin(), low, walsh.end());
    estimate.interval = Interval{*low, 0};
    const auto high = walsh.begin() + static_cast<std::ptrdiff_t>(walsh.size() - index);
    std::nth_element(walsh.begin(), high, walsh.end());
    estimate.interval->high = *high;
  }
  estimate.shift = median(walsh);
  return estimate;
}

}  // namespace attune::tuner
