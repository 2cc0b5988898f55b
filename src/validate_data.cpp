#include "src/validate_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/floats.h"
#include "src/sweep_executor.h"
#include "src/validate_values.h"

namespace attune::driver {

namespace {
constexpr Index longest_period = 1'000'003;  // a prime: no stride of an algorithm divides it
constexpr Index shortest_period = 4099;
constexpr Index shift_step = 7919;

std::size_t byte_of(Index element, DType dtype) { return static_cast<std::size_t>(element * size_of(dtype)); }

template <class T>
T narrow_to(double value) {
  if constexpr (NarrowFloat<T>)
    return from_float<T>(static_cast<float>(value));
  else
    return static_cast<T>(value);
}
template <class T>
double widen_from(T value) {
  if constexpr (NarrowFloat<T>)
    return static_cast<double>(to_float(value));
  else
    return static_cast<double>(value);
}

double store(std::byte* at, DType dtype, double value) {
  return with_dtype(dtype, [&]<class T>() {
    const T stored = narrow_to<T>(value);
    std::memcpy(at, &stored, sizeof stored);
    return widen_from(stored);
  });
}
}  // namespace

double element_at(const void* memory, Index index, DType dtype) {
  return with_dtype(dtype, [&]<class T>() {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(memory) + byte_of(index, dtype), sizeof value);
    return widen_from(value);
  });
}

std::string to_string(const Mismatch& mismatch, int rank) {
  const std::string within = mismatch.bound > 0 ? fmt::format(" within {:.3g}", mismatch.bound) : std::string();
  return fmt::format("rank {}, element {}: got {:.9g}, want {:.9g}{}", rank, mismatch.index, mismatch.got,
                     mismatch.want, within);
}

TestData::TestData(const Problem& problem, DataKind kind, int rank, std::uint64_t seed)
    : problem_(problem), kind_(kind), output_(output_of(problem, rank)) {
  const Index cols = std::max<Index>(1, problem.cols);
  period_ = std::clamp(3 * problem.count + 1, shortest_period, longest_period);
  if (problem.epilogue == EpilogueKind::bias) {  // the result repeats only with whole rows
    unit_ = cols;
    period_ = cols * std::max<Index>(3, period_ / cols);
  }
  make_tiles(rank, seed);
}

void TestData::make_tiles(int rank, std::uint64_t seed) {
  const bool has_operand = problem_.epilogue == EpilogueKind::bias || problem_.epilogue == EpilogueKind::residual;
  const bool rounds = kind_ == DataKind::random;
  input_.resize(byte_of(period_, problem_.dtype));
  expected_.resize(input_.size());
  if (has_operand) operand_.resize(input_.size());
  if (rounds) reference_.resize(static_cast<std::size_t>(period_));
  if (rounds) magnitude_.resize(static_cast<std::size_t>(period_));
  const ValueMaker values(problem_, rounds, seed);
  for (Index i = 0; i < period_; ++i) {
    const std::size_t at = byte_of(i, problem_.dtype);
    Reduction sum(problem_);
    for (int r = 0; r < problem_.ranks; ++r) {
      std::byte peers[8];
      const double value = store(r == rank ? &input_[at] : peers, problem_.dtype, values.input(r, i));
      sum.add(value);
    }
    double operand = 0;
    if (has_operand) operand = store(&operand_[at], problem_.dtype, values.operand(i % unit_ + (unit_ == 1 ? i : 0)));
    const double result = sum.finish(operand);
    store(&expected_[at], problem_.dtype, result);
    if (!rounds) continue;
    reference_[static_cast<std::size_t>(i)] = result;
    magnitude_[static_cast<std::size_t>(i)] = static_cast<float>(sum.magnitude(operand));
  }
}

Index TestData::shift(int call) const { return static_cast<Index>(call) * shift_step % (period_ / unit_) * unit_; }

void TestData::copy_tile(const Tile& tile, void* to, int call) const {
  auto* out = static_cast<std::byte*>(to);
  Index from = shift(call);
  for (Index done = 0; done < problem_.count;) {
    const Index step = std::min(period_ - from, problem_.count - done);
    std::memcpy(out + byte_of(done, problem_.dtype), &tile[byte_of(from, problem_.dtype)],
                byte_of(step, problem_.dtype));
    done += step;
    from = 0;
  }
}

std::optional<Index> TestData::first_difference(const Tile& tile, Span part, const void* memory, int call) const {
  const auto* seen = static_cast<const std::byte*>(memory);
  Index from = (shift(call) + part.first) % period_;
  for (Index done = 0; done < part.count;) {
    const Index step = std::min(period_ - from, part.count - done);
    const std::byte* want = &tile[byte_of(from, problem_.dtype)];
    const std::byte* got = seen + byte_of(done, problem_.dtype);
    const std::size_t bytes = byte_of(step, problem_.dtype);
    if (std::memcmp(want, got, bytes) != 0) {
      const auto at = std::mismatch(want, want + bytes, got).first - want;
      return done + static_cast<Index>(at) / size_of(problem_.dtype);
    }
    done += step;
    from = 0;
  }
  return std::nullopt;
}

std::optional<Index> TestData::changed_input(const void* in, int call) const {
  return first_difference(input_, {0, problem_.count}, in, call);
}

EpilogueSpec TestData::epilogue(int call) {
  EpilogueSpec spec{.kind = problem_.epilogue, .scale = epilogue_scale, .cols = std::max<Index>(1, problem_.cols)};
  if (operand_.empty()) return spec;
  shifted_operand_.resize(byte_of(problem_.count, problem_.dtype));
  copy_tile(operand_, shifted_operand_.data(), call);
  spec.operand = shifted_operand_.data();
  return spec;
}

std::optional<Mismatch> TestData::check_exact(const void* out, int call) const {
  const auto at = first_difference(expected_, output_, out, call);
  if (!at) return std::nullopt;
  const double want = element_at(expected_.data(), (*at + output_.first + shift(call)) % period_, problem_.dtype);
  const double got = element_at(out, *at, problem_.dtype);
  return Mismatch{*at, got, want, 0};
}

std::optional<Mismatch> TestData::mismatch_at(Index index, Index at, double got, double want,
                                              const ErrorBound& bound) const {
  const auto i = static_cast<std::size_t>(at);
  const double most = bound.at(reference_[i], static_cast<double>(magnitude_[i]));
  if (std::abs(got - want) <= most) return std::nullopt;
  return Mismatch{index, got, want, most};
}

std::optional<Mismatch> TestData::check_close(const void* out, int call, Numerics numerics) const {
  const ErrorBound bound = error_bound(problem_, numerics);
  return with_dtype(problem_.dtype, [&]<class T>() -> std::optional<Mismatch> {
    const T* seen = static_cast<const T*>(out);
    Index at = (shift(call) + output_.first) % period_;
    for (Index i = 0; i < output_.count; ++i) {
      const double want = reference_[static_cast<std::size_t>(at)];
      if (auto fault = mismatch_at(i, at, widen_from(seen[i]), want, bound)) return fault;
      if (++at == period_) at = 0;
    }
    return std::nullopt;
  });
}

std::optional<Mismatch> TestData::check_against(const void* out, const void* other, int call, Numerics numerics,
                                                Numerics other_numerics) const {
  if (std::memcmp(out, other, byte_of(output_.count, problem_.dtype)) == 0) return std::nullopt;
  const ErrorBound one = error_bound(problem_, numerics);
  const ErrorBound two = error_bound(problem_, other_numerics);
  const ErrorBound both{one.fixed + two.fixed, one.by_result + two.by_result, one.by_magnitude + two.by_magnitude};
  return with_dtype(problem_.dtype, [&]<class T>() -> std::optional<Mismatch> {
    Index at = (shift(call) + output_.first) % period_;
    for (Index i = 0; i < output_.count; ++i) {
      const double got = widen_from(static_cast<const T*>(out)[i]);
      const double want = widen_from(static_cast<const T*>(other)[i]);
      if (auto fault = mismatch_at(i, at, got, want, both)) return fault;
      if (++at == period_) at = 0;
    }
    return std::nullopt;
  });
}

}  // namespace attune::driver
