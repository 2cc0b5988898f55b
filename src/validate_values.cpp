#include "src/validate_values.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace attune::driver {

namespace {
/// The largest integer up to which all integers are exact, with room in the integer types.
constexpr std::array<double, 12> exact_up_to{1073741824.0, 16777216.0,   2048.0,          256.0,
                                             16.0,         8.0,          120.0,           250.0,
                                             1073741824.0, 1073741824.0, 1099511627776.0, 1099511627776.0};
/// Bits of the significand, the leading one included; floats only.
constexpr std::array<int, 6> significand_bits{53, 24, 11, 8, 4, 3};
/// Half of the smallest subnormal number; floats only.
constexpr std::array<double, 6> half_smallest{0, 0, 0x1p-25, 0, 0x1p-10, 0x1p-17};

std::size_t at(DType dtype) { return static_cast<std::size_t>(dtype); }
bool is_unsigned(DType dtype) { return dtype == DType::u8 || dtype == DType::u32 || dtype == DType::u64; }

/// A finaliser of splitmix64: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}
}  // namespace

ValueMaker::ValueMaker(const Problem& problem, bool rounds, std::uint64_t seed)
    : problem_(problem), rounds_(rounds && is_float(problem.dtype)), seed_(mix(seed + 0x9E3779B97F4A7C15ULL)) {
  double room = exact_up_to[at(problem.dtype)];
  if (problem.epilogue == EpilogueKind::scale) room /= epilogue_scale;
  const double sharers = problem.ranks + (problem.epilogue == EpilogueKind::none ? 0 : 1);
  limit_ = std::floor(room / sharers);
  if (problem.op == Op::avg) limit_ = std::floor(limit_ / problem.ranks);
  one_rank_ = limit_ < 1;
  if (one_rank_) limit_ = 1;
}

std::uint64_t ValueMaker::bits(std::uint64_t stream, Index i) const {
  return mix(seed_ ^ mix((stream << 48) + static_cast<std::uint64_t>(i)));
}

double ValueMaker::integer(std::uint64_t bits, double limit) const {
  const auto span = static_cast<std::uint64_t>(is_unsigned(problem_.dtype) ? limit + 1 : 2 * limit + 1);
  return static_cast<double>(bits % span) - (is_unsigned(problem_.dtype) ? 0 : limit);
}

double ValueMaker::input(int rank, Index i) const {
  const std::uint64_t random = bits(static_cast<std::uint64_t>(rank) + 1, i);
  const bool product = problem_.op == Op::prod;
  if (rounds_) {
    const double unit = static_cast<double>(random >> 11) * 0x1p-53;
    if (!product) return 2 * unit - 1;
    return (0.75 + 0.5 * unit) * ((random & 1) != 0 ? 1 : -1);
  }
  if (product) {  // two ranks bring a factor 2, so that 8 ranks fit into 3 bits
    const double size = rank < 2 && (random & 2) != 0 ? 2 : 1;
    return (random & 1) != 0 || is_unsigned(problem_.dtype) ? size : -size;
  }
  if (one_rank_ && static_cast<int>(bits(0, i) % static_cast<std::uint64_t>(problem_.ranks)) != rank) return 0;
  return integer(random, limit_) * (problem_.op == Op::avg ? problem_.ranks : 1);
}

double ValueMaker::operand(Index i) const {
  const std::uint64_t random = bits(0xFFFF, i);
  if (rounds_) return 2 * (static_cast<double>(random >> 11) * 0x1p-53) - 1;
  return integer(random, problem_.op == Op::prod || problem_.op == Op::avg ? 1 : limit_);
}

Reduction::Reduction(const Problem& problem) : problem_(problem) {}

void Reduction::add(double value) {
  const bool first = added_++ == 0;
  switch (problem_.op) {
    case Op::prod:
      value_ = first ? value : value_ * value;
      magnitude_ = std::abs(value_);
      return;
    case Op::min:
      value_ = first ? value : std::min<long double>(value_, value);
      return;
    case Op::max:
      value_ = first ? value : std::max<long double>(value_, value);
      return;
    case Op::sum:
    case Op::avg:
      value_ += value;
      magnitude_ += std::abs(value);
  }
}

double Reduction::finish(double operand) const {
  long double value = value_;
  if (problem_.op == Op::avg) value /= problem_.ranks;
  if (problem_.op == Op::avg && !is_float(problem_.dtype)) value = std::trunc(value);
  switch (problem_.epilogue) {
    case EpilogueKind::scale:
      return static_cast<double>(value * epilogue_scale);
    case EpilogueKind::bias:
    case EpilogueKind::residual:
      return static_cast<double>(value + operand);
    case EpilogueKind::relu:
      return static_cast<double>(std::max(value, 0.0L));
    case EpilogueKind::none:
      break;
  }
  return static_cast<double>(value);
}

double Reduction::magnitude(double operand) const {
  long double size = problem_.op == Op::min || problem_.op == Op::max ? std::abs(value_) : magnitude_;
  if (problem_.op == Op::avg) size /= problem_.ranks;
  if (problem_.epilogue == EpilogueKind::scale) size *= epilogue_scale;
  return static_cast<double>(size) + std::abs(operand);
}

ErrorBound error_bound(const Problem& problem, Numerics numerics) {
  const bool adds = problem.epilogue == EpilogueKind::bias || problem.epilogue == EpilogueKind::residual;
  const bool picks = problem.op == Op::min || problem.op == Op::max;
  if (!is_float(problem.dtype) || (picks && !adds)) return {};
  const double slack = 1.01;  // terms of second order
  const double unit = std::ldexp(1.0, -significand_bits[at(problem.dtype)]);
  const double wide = std::ldexp(1.0, problem.dtype == DType::f64 ? -53 : -24);
  const double steps = problem.ranks + 2;
  const bool wide_sums = numerics == Numerics::rank_order;
  return {.fixed = slack * half_smallest[at(problem.dtype)] * problem.ranks,
          .by_result = wide_sums ? slack * unit : 0,
          .by_magnitude = slack * steps * (wide_sums ? wide : unit) + 0x1p-53};
}

}  // namespace attune::driver
