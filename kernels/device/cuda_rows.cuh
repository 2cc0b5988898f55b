#pragma once
/// What fused kernels work on: rows of inputs and outputs, and the normalisation of a row; as device/rms_norm.h.
#include "device/cuda_block.cuh"

namespace attune::cuda {

/// Memory of the caller that need not lie on a pack boundary.
template <class T>
struct Operand {
  const T* data;

  template <class Position>
  [[nodiscard]] ATTUNE_DEVICE LanePack<T, Position::lanes> load(const Position& i) const {
    const T* from = data + i.first;
    if constexpr (Position::whole) {
      if ((reinterpret_cast<std::uintptr_t>(from) & (pack_bytes - 1)) == 0)
        return std::bit_cast<LanePack<T, Position::lanes>>(load_quad(from));
    }
    return LanePack<T, Position::lanes>::make([&](int k) { return from[k]; });
  }
};

/// The matrices of one call. Positions are elements of the inputs, row by row.
template <class T>
struct Rows {
  const RowArguments& arguments;
  const BlockMemory& block;

  [[nodiscard]] ATTUNE_DEVICE Index cols() const { return arguments.cols; }
  [[nodiscard]] ATTUNE_DEVICE Span mine() const { return arguments.mine; }
  [[nodiscard]] ATTUNE_DEVICE View<T> in(int rank) const { return {reinterpret_cast<T*>(block.in[rank])}; }
  [[nodiscard]] ATTUNE_DEVICE View<T> sum(int rank) const { return output(block.out[rank]); }
  [[nodiscard]] ATTUNE_DEVICE View<T> normalised(int rank) const { return output(block.second_out[rank]); }

  /// `sum` rounded to T, then the residual added and rounded again, as two kernels would.
  template <class P>
  [[nodiscard]] ATTUNE_DEVICE auto with_residual(const auto& i, const P& sum) const {
    auto rounded = narrow<T>(sum);
    if (arguments.residual != nullptr) {
      const Operand<T> residual{static_cast<const T*>(arguments.residual)};
      rounded = narrow<T>(Sum{}(widen(rounded), widen(residual.load(i))));
    }
    return rounded;
  }

 private:
  [[nodiscard]] ATTUNE_DEVICE View<T> output(std::byte* base) const {
    return View<T>{reinterpret_cast<T*>(base)}.from(arguments.origin * arguments.cols);
  }
};

template <int Ranks, class T, class Position, class O>
ATTUNE_DEVICE auto sum_over(const Team<Ranks>& team, const Rows<T>& rows, const Position& i, O op) {
  return fold_in_rank_order(
      team, [&](int rank) { return rows.in(rank).load(i); }, op);
}

/// The normalisation of one row, once its sum of squares is known.
template <class T>
class RmsNorm {
 public:
  ATTUNE_DEVICE RmsNorm(const RowArguments& arguments, Span row, double squares)
      : gamma_{static_cast<const T*>(arguments.gamma) - row.first},
        offset_(arguments.weight_offset),
        scale_(1 / sqrt(squares / static_cast<double>(row.count) + arguments.epsilon)) {}

  /// The normalised elements at a position of the row, rounded to T. f32 has no bits to spare for three roundings: its
  /// product is rounded once.
  template <class P>
  [[nodiscard]] ATTUNE_DEVICE auto operator()(const auto& i, const P& sum) const {
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, float>;
    const auto scale = static_cast<Wide>(scale_);
    const auto offset = static_cast<Wide>(offset_);
    return narrow<T>(map_parts<P>(
        [=](float x, float weight) {
          return static_cast<float>(static_cast<Wide>(x) * scale * (static_cast<Wide>(weight) + offset));
        },
        sum, widen(gamma_.load(i))));
  }

 private:
  Operand<T> gamma_;
  double offset_;
  double scale_;
};

}  // namespace attune::cuda
