#pragma once
/// Minimum, maximum and the conversions of the narrow floats by the hardware's instructions, with the bits of
/// device/ops.h and core/floats.h: NaN, for which the hardware has patterns of its own, comes out as the one canonical
/// pattern. 8-bit floats have instructions from sm_89 on; before, and in plain C++, core/floats.h does it.
#include <cstdint>

#include "device/lane_pack.h"

namespace attune {

#ifdef __CUDACC__
namespace detail {

template <>
ATTUNE_DEVICE float extreme_one<true, float>(float a, float b) {
  float result = 0;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result != result ? __uint_as_float(0x7FC00000U) : result;
}
template <>
ATTUNE_DEVICE float extreme_one<false, float>(float a, float b) {
  float result = 0;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result != result ? __uint_as_float(0x7FC00000U) : result;
}

/// Two lanes: the low one in the low half.
template <class T>
struct HardwarePair {
  static constexpr bool available = false;
};

template <>
struct HardwarePair<f16> {
  static constexpr bool available = true;
  static constexpr std::uint16_t nan = 0x7E00;
  ATTUNE_DEVICE static float widen(f16 x) {
    float result = 0;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
    return result;
  }
  ATTUNE_DEVICE static std::uint32_t narrow(float low, float high) {
    std::uint32_t pair = 0;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
  }
};

template <>
struct HardwarePair<bf16> {
  static constexpr bool available = true;
  static constexpr std::uint16_t nan = 0x7FC0;
  ATTUNE_DEVICE static float widen(bf16 x) { return __uint_as_float(std::uint32_t{x.bits} << 16); }
  ATTUNE_DEVICE static std::uint32_t narrow(float low, float high) {
    std::uint32_t pair = 0;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
  }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
/// 8-bit floats widen through f16, exactly.
ATTUNE_DEVICE float half_to_float(std::uint32_t bits) {
  float result = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(static_cast<std::uint16_t>(bits)));
  return result;
}
template <>
struct HardwarePair<f8e4m3> {
  static constexpr bool available = true;
  static constexpr std::uint8_t nan = 0x7F;
  ATTUNE_DEVICE static float widen(f8e4m3 x) {
    std::uint32_t halves = 0;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(std::uint16_t{x.bits}));
    return half_to_float(halves);
  }
  ATTUNE_DEVICE static std::uint32_t narrow(float low, float high) {
    std::uint16_t pair = 0;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
    return pair;
  }
};
template <>
struct HardwarePair<f8e5m2> {
  static constexpr bool available = true;
  static constexpr std::uint8_t nan = 0x7E;
  ATTUNE_DEVICE static float widen(f8e5m2 x) { return half_to_float(std::uint32_t{x.bits} << 8); }
  ATTUNE_DEVICE static std::uint32_t narrow(float low, float high) {
    std::uint16_t pair = 0;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
    return pair;
  }
};
#endif

}  // namespace detail

template <NarrowFloat T, int L>
struct Conversion<T, L> {
  using Hardware = detail::HardwarePair<T>;
  using Bits = decltype(T::bits);

  ATTUNE_DEVICE static LanePack<float, L> widen(const LanePack<T, L>& pack) {
    return map_parts<LanePack<float, L>>(
        [](T x) {
          if constexpr (Hardware::available)
            return Hardware::widen(x);
          else
            return to_float(x);
        },
        pack);
  }
  ATTUNE_DEVICE static LanePack<T, L> narrow(const LanePack<float, L>& pack) {
    if constexpr (!Hardware::available) {
      return map_parts<LanePack<T, L>>([](float x) { return from_float<T>(x); }, pack);
    } else if constexpr (L == 1) {
      return {{{keep_nan(pack.get(0), static_cast<Bits>(Hardware::narrow(pack.get(0), 0)))}}};
    } else {
      constexpr int width = 8 * static_cast<int>(sizeof(Bits));
      LanePack<T, L> result;
      ATTUNE_UNROLL
      for (int w = 0; w < L / result.per_word; ++w) {
        result.word[w] = 0;
        ATTUNE_UNROLL
        for (int k = 0; k < result.per_word; k += 2) {
          const float low = pack.get(w * result.per_word + k);
          const float high = pack.get(w * result.per_word + k + 1);
          const std::uint32_t pair = Hardware::narrow(low, high);
          result.word[w] |= std::uint32_t{keep_nan(low, static_cast<Bits>(pair))} << (width * k);
          result.word[w] |= std::uint32_t{keep_nan(high, static_cast<Bits>(pair >> width))} << (width * (k + 1));
        }
      }
      return result;
    }
  }

 private:
  [[nodiscard]] ATTUNE_DEVICE static Bits keep_nan(float from, Bits to) { return from != from ? Hardware::nan : to; }
};
#endif

}  // namespace attune
