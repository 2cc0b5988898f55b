#pragma once
/// The numbers of validation: values of every rank at every position, their reduction in fp64, and how far a correct
/// implementation may be from it.
#include <cstdint>

#include "core/plan.h"

namespace attune::driver {

inline constexpr double epilogue_scale = 2;  ///< Exact in every dtype, for integers too.

class ValueMaker {
 public:
  ValueMaker(const Problem& problem, bool rounds, std::uint64_t seed);
  /// Rank's input at position i.
  [[nodiscard]] double input(int rank, Index i) const;
  /// The epilogue's operand at position i.
  [[nodiscard]] double operand(Index i) const;

 private:
  [[nodiscard]] std::uint64_t bits(std::uint64_t stream, Index i) const;
  [[nodiscard]] double integer(std::uint64_t bits, double limit) const;

  Problem problem_;
  bool rounds_;
  std::uint64_t seed_;
  double limit_ = 1;       ///< Largest integer of one rank,
  bool one_rank_ = false;  ///< or there is room for one rank's only, the others have 0.
};

/// The reduction of one element, rank by rank in fp64 (long double where that is wider).
class Reduction {
 public:
  explicit Reduction(const Problem& problem);
  void add(double value);
  /// The result after the division of avg and the epilogue.
  [[nodiscard]] double finish(double operand) const;
  /// What rounding errors scale with: the sum of absolute values (product: the product's), taken through the same.
  [[nodiscard]] double magnitude(double operand) const;

 private:
  const Problem& problem_;
  int added_ = 0;
  long double value_ = 0;
  long double magnitude_ = 0;
};

/// Largest distance from the fp64 result that a right implementation of a class can have: linear in the result and in
/// the sum M of absolute values. With u the unit roundoff of the dtype and v that of its accumulator: rank_order
/// (n+2)·v·M + u·|result|, all others round at every step: (n+2)·u·M. 0 for integers, min and max.
struct ErrorBound {
  double fixed = 0;
  double by_result = 0;
  double by_magnitude = 0;
  [[nodiscard]] double at(double result, double magnitude) const {
    return fixed + by_result * (result < 0 ? -result : result) + by_magnitude * magnitude;
  }
};
[[nodiscard]] ErrorBound error_bound(const Problem& problem, Numerics numerics);

}  // namespace attune::driver
