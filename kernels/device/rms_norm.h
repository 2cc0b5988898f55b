#pragma once
/// What fused kernels work on: rows of inputs and outputs, and the normalisation of a row.
///   normalised = sum · 1/√(mean(sum²) + ε) · (γ + offset)
/// Statistics are those of the sum as it is stored, rounded to T: fused gives the same as one kernel after the other.
#include <cmath>

#include "device/host.h"
#include "device/row_arguments.h"

namespace attune::host {

namespace detail {
template <class T>
[[nodiscard]] ATTUNE_DEVICE View<T, Role::input> operand(const void* memory) {
  return {const_cast<T*>(static_cast<const T*>(memory))};
}
}  // namespace detail

/// The matrices of one call. Positions are elements of the inputs, row by row.
template <class T>
struct Rows {
  const Addresses& at;
  const RowArguments& arguments;

  [[nodiscard]] ATTUNE_DEVICE Index cols() const { return arguments.cols; }
  [[nodiscard]] ATTUNE_DEVICE Span mine() const { return arguments.mine; }
  [[nodiscard]] ATTUNE_DEVICE View<T, Role::input> in(int rank) const {
    return {reinterpret_cast<T*>(at.in[static_cast<std::size_t>(rank)])};
  }
  [[nodiscard]] ATTUNE_DEVICE View<T, Role::output> sum(int rank) const {
    return output(at.out[static_cast<std::size_t>(rank)]);
  }
  [[nodiscard]] ATTUNE_DEVICE View<T, Role::output> normalised(int rank) const {
    return output(at.second_out[static_cast<std::size_t>(rank)]);
  }
  /// `sum` rounded to T, then the residual added and rounded again, as two kernels would.
  template <class P>
  [[nodiscard]] ATTUNE_DEVICE auto with_residual(const auto& i, const P& sum) const {
    const auto rounded = narrow<T>(sum);
    if (arguments.residual == nullptr) return rounded;
    return narrow<T>(Sum{}(widen(rounded), widen(detail::operand<T>(arguments.residual).load(i))));
  }

 private:
  [[nodiscard]] ATTUNE_DEVICE View<T, Role::output> output(std::byte* base) const {
    return View<T, Role::output>{reinterpret_cast<T*>(base)}.from(arguments.origin * arguments.cols);
  }
};

/// The normalisation of one row, once its sum of squares is known.
template <class T>
class RmsNorm {
 public:
  ATTUNE_DEVICE RmsNorm(const RowArguments& arguments, Span row, double squares)
      : gamma_(detail::operand<T>(arguments.gamma).from(row.first)),
        offset_(arguments.weight_offset),
        scale_(1 / std::sqrt(squares / static_cast<double>(row.count) + arguments.epsilon)) {}

  /// The normalised elements at a position of the row, rounded to T.
  template <class P>
  [[nodiscard]] ATTUNE_DEVICE auto operator()(const auto& i, const P& sum) const {
    const P weight = widen(gamma_.load(i));
    if constexpr (std::is_same_v<T, float>) return exact_product(sum, weight);
    const auto scale = static_cast<float>(scale_);
    const auto offset = static_cast<float>(offset_);
    return narrow<T>(map_parts<P>(
        [=](auto x, auto w) __attribute__((always_inline)) { return x * scale * (w + offset); }, sum, weight));
  }

 private:
  /// f32 has no bits to spare for three roundings: the product is rounded once.
  template <class P>
  [[nodiscard]] ATTUNE_DEVICE P exact_product(const P& sum, const P& weight) const {
    const double scale = scale_;
    const double offset = offset_;
    return map_parts<P>(
        [=](auto x, auto w) __attribute__((always_inline)) {
          using Wide = attune::detail::Vector<double, P::lanes_per_part>;
          const Wide product = __builtin_convertvector(x, Wide) * scale * (__builtin_convertvector(w, Wide) + offset);
          return __builtin_convertvector(product, decltype(x));
        },
        sum, weight);
  }

  View<T, Role::input> gamma_;
  double offset_;
  double scale_;
};

}  // namespace attune::host
