#pragma once
/// The kernels of one variant, as its generated translation unit gives them. Plain C++: the registry needs no nvcc.
#include <array>
#include <cstddef>

#include "runtime/cuda_launch.h"

namespace attune::cuda {

/// By dtype and by rank count. An entry that is null is none of its own: that for any number of ranks does it.
struct KernelTable {
  static constexpr std::array rank_counts{0, 2, 4, 8};  ///< 0 = any.
  std::array<std::array<KernelEntry, rank_counts.size()>, 12> entry{};

  [[nodiscard]] KernelEntry find(DType dtype, int ranks) const {
    const auto& of_dtype = entry[static_cast<std::size_t>(dtype)];
    for (std::size_t k = 1; k < rank_counts.size(); ++k)
      if (rank_counts[k] == ranks && of_dtype[k].function != nullptr) return of_dtype[k];
    return of_dtype[0];
  }
};

/// Defined in a generated translation unit per variant, fused kernel and local helper.
template <class V>
const KernelTable& kernels_of();

}  // namespace attune::cuda
