#pragma once
/// In-switch words on cuda: multimem instructions on multicast addresses, from sm_90 on. Types and ops that the switch
/// lacks, elements behind the last whole pack, and older GPUs take the ordinary way of device/multimem.h.
#include "device/cuda_any.cuh"
#include "device/multimem.h"

namespace attune::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
template <class T>
inline constexpr bool switch_adds = std::is_same_v<T, float> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
#else
template <class T>
inline constexpr bool switch_adds = false;
#endif

/// Sums of 16-bit floats are made in f32 and rounded once.
template <class T>
[[nodiscard]] ATTUNE_DEVICE Quad load_sum(const std::byte* multicast) {
  Quad sum{};
#ifdef __CUDACC__
  const auto from = __cvta_generic_to_global(multicast);
  std::uint32_t* w = sum.word;
  if constexpr (std::is_same_v<T, float>) {
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "l"(from)
                 : "memory");
  } else if constexpr (std::is_same_v<T, f16>) {
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "l"(from)
                 : "memory");
  } else {
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "l"(from)
                 : "memory");
  }
#endif
  return sum;
}
ATTUNE_DEVICE void store_everywhere(std::byte* multicast, const Quad& quad) {
#ifdef __CUDACC__
  asm volatile(
      "multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(multicast)),
      "r"(quad.word[0]), "r"(quad.word[1]), "r"(quad.word[2]), "r"(quad.word[3])
      : "memory");
#endif
}

template <class T, int Ranks, class Position>
[[nodiscard]] ATTUNE_DEVICE LanePack<T, Position::lanes> reduce_in_switch(const Team<Ranks>& team,
                                                                          const Buffers<T>& buffers, const Position& i,
                                                                          AnyOp op) {
  if constexpr (Position::whole && switch_adds<T>) {
    const std::byte* multicast = buffers.launch.multicast_in;
    if (multicast != nullptr && (op.op == Op::sum || op.op == Op::avg))
      return std::bit_cast<LanePack<T, Position::lanes>>(
          load_sum<T>(multicast + i.first * static_cast<Index>(sizeof(T))));
  }
  return narrow<T>(sum_over(team, buffers, i, op));
}

template <int Ranks, class T, class Position>
ATTUNE_DEVICE void store_in_switch(const Team<Ranks>& team, const Buffers<T>& buffers, const Position& i,
                                   const LanePack<T, Position::lanes>& pack) {
  if constexpr (Position::whole && switch_adds<T>) {
    if (std::byte* multicast = buffers.launch.multicast_out; multicast != nullptr)
      return store_everywhere(multicast + i.first * static_cast<Index>(sizeof(T)), std::bit_cast<Quad>(pack));
  }
  for_each_rank(team, [&](int rank) { buffers.out(rank).store(i, pack); });
}

}  // namespace attune::cuda
