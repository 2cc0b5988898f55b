#include "src/validate_norm.h"

#include <cmath>
#include <cstring>

#include "core/floats.h"

namespace attune::driver {

namespace {
constexpr Index weights = 7;

double weight_at(Index col) { return 0.25 * static_cast<double>(1 + col % weights); }

double significand_unit(DType dtype) {
  return std::ldexp(1.0, dtype == DType::f32 ? -24 : dtype == DType::f16 ? -11 : -8);
}
double smallest(DType dtype) { return dtype == DType::f16 ? 0x1p-24 : 0; }
}  // namespace

std::vector<std::byte> gamma_weights(const Problem& problem) {
  std::vector<std::byte> gamma(static_cast<std::size_t>(problem.cols * size_of(problem.dtype)));
  with_dtype(problem.dtype, [&]<class T>() {
    for (Index col = 0; col < problem.cols; ++col) {
      T value;
      if constexpr (NarrowFloat<T>)
        value = from_float<T>(static_cast<float>(weight_at(col)));
      else
        value = static_cast<T>(weight_at(col));
      std::memcpy(&gamma[static_cast<std::size_t>(col) * sizeof(T)], &value, sizeof value);
    }
  });
  return gamma;
}

std::optional<Mismatch> check_norm(const Problem& problem, Index elements, const void* sum, const void* normalised,
                                   const RmsNormSpec& norm) {
  const double unit = significand_unit(problem.dtype);
  const double relative = 1.01 * unit + (static_cast<double>(problem.cols) + 16) * 0x1p-24;
  for (Index row = 0; row < elements; row += problem.cols) {
    double squares = 0;
    for (Index col = 0; col < problem.cols; ++col) {
      const double value = element_at(sum, row + col, problem.dtype);
      squares += value * value;
    }
    const double scale = 1 / std::sqrt(squares / static_cast<double>(problem.cols) + norm.epsilon);
    for (Index col = 0; col < problem.cols; ++col) {
      const double want = element_at(sum, row + col, problem.dtype) * scale * (weight_at(col) + norm.weight_offset);
      const double got = element_at(normalised, row + col, problem.dtype);
      const double bound = relative * std::abs(want) + smallest(problem.dtype);
      if (!(std::abs(got - want) <= bound)) return Mismatch{row + col, got, want, bound};
    }
  }
  return std::nullopt;
}

}  // namespace attune::driver
