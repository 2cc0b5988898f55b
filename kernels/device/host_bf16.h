#pragma once
/// The sum of bf16 on AVX2 without sorting lanes: of sixteen neighbours in a register the odd ones are floats once the
/// others are masked away, and the even ones after one shift. Bits and order of additions are those of widen and
/// narrow, which take half as long again; so it stands in where nothing asks for a lane's position.
#include "device/host.h"

namespace attune::host {

#if defined(__AVX2__)
/// Sums of 32 elements: [k] holds the even and the odd ones of the k-th sixteen.
struct Bf16Sums {
  static constexpr bool positionless = true;
  __m256 even[2];
  __m256 odd[2];

  [[nodiscard]] ATTUNE_DEVICE Bf16Sums divided_by(int divisor) const {
    const __m256 by = _mm256_set1_ps(static_cast<float>(divisor));
    return {{_mm256_div_ps(even[0], by), _mm256_div_ps(even[1], by)},
            {_mm256_div_ps(odd[0], by), _mm256_div_ps(odd[1], by)}};
  }
};

namespace detail {
ATTUNE_DEVICE Bf16Sums split_bf16(const bf16* from) {
  Bf16Sums split;
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + k);
    split.even[k] = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
    split.odd[k] = _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(static_cast<int>(0xFFFF0000U))));
  }
  return split;
}

/// Rounded to nearest even in the upper half of each lane.
ATTUNE_DEVICE __m256i round_bf16(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  return _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
}

/// The one NaN that narrow gives, in place of any.
ATTUNE_DEVICE __m256 canonical(__m256 value) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC00000));
  return _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
}
}  // namespace detail

/// The op over the terms of all ranks, in rank order: chosen over the general one for the sum of whole packs of bf16.
template <int Ranks, Role role, std::size_t N, bool Streaming>
ATTUNE_DEVICE Bf16Sums sum_over(const Team<Ranks>& team, const std::array<View<bf16, role>, N>& terms,
                                const Full<isa::avx2, bf16, Streaming>& i, Sum /*op*/) {
  Bf16Sums sum = detail::split_bf16(terms[0].data + i.first);
#pragma GCC unroll 8
  for (int rank = 1; rank < team.ranks; ++rank) {
    const Bf16Sums term = detail::split_bf16(terms[static_cast<std::size_t>(rank)].data + i.first);
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      sum.even[k] = _mm256_add_ps(sum.even[k], term.even[k]);
      sum.odd[k] = _mm256_add_ps(sum.odd[k], term.odd[k]);
    }
  }
  return sum;
}

/// Sums rounded to elements.
template <class T>
ATTUNE_DEVICE HostPack<bf16, 32> narrow(Bf16Sums sums) {
  const __m256 nan = _mm256_or_ps(_mm256_cmp_ps(sums.even[0], sums.odd[0], _CMP_UNORD_Q),
                                  _mm256_cmp_ps(sums.even[1], sums.odd[1], _CMP_UNORD_Q));
  if (__builtin_expect(_mm256_movemask_ps(nan), 0) != 0) {
    for (int k = 0; k < 2; ++k) {
      sums.even[k] = detail::canonical(sums.even[k]);
      sums.odd[k] = detail::canonical(sums.odd[k]);
    }
  }
  HostPack<bf16, 32> pack;
  using Part = HostPack<bf16, 32>::Part;
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    const __m256i low = _mm256_srli_epi32(detail::round_bf16(sums.even[k]), 16);
    const __m256i both = _mm256_blend_epi16(low, detail::round_bf16(sums.odd[k]), 0xAA);
    pack.part[2 * k] = (Part)_mm256_castsi256_si128(both);
    pack.part[2 * k + 1] = (Part)_mm256_extracti128_si256(both, 1);
  }
  return pack;
}
#endif

}  // namespace attune::host
