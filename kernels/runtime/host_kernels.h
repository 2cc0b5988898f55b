#pragma once
/// From a variant to functions that can be called: one table per variant and instruction set.
#include <array>
#include <type_traits>

#include "core/traits.h"
#include "device/any.h"
#include "device/host_bf16.h"
#include "device/host_block.h"

namespace attune::host {

/// The kernels of one variant, by dtype. `sum2` and `sum` are the sum (for two ranks, for any) and, for floats, the
/// average, compiled in full; `any` takes every op and prebuilt epilogue (device/any.h). A missing sum is null: those
/// of 1-byte types, whose arithmetic hides the calls.
struct KernelTable {
  std::array<Kernel, 12> sum2{};
  std::array<Kernel, 12> sum{};
  std::array<Kernel, 12> any{};
};

template <class V, class Isa, class T, int Ranks, bool Streams, class O, class E>
[[gnu::flatten]] void run_kernel(const Launch& launch, int index, O op, const E& epilogue) {
  Block<Isa, T, Streams> block(launch, index);
  const Buffers<T> buffers{launch.count, launch.chunk, block.addresses()};
  V::template run<Ranks, T>(block, Team<Ranks>(launch.rank, launch.ranks, launch.near), buffers, op, epilogue);
  if (launch.streaming) detail::drain_streaming_stores();
}

/// What a variant's traits, or a kernel without any, mean for its instances.
template <class V>
struct InstanceTraits {
  static constexpr bool unrolls_peers = true;    ///< The inner loop runs over all peers: a fixed rank count pays.
  static constexpr bool streams_outputs = true;  ///< Nobody reads outputs during the launch: they may bypass the cache.
};
template <class V>
requires requires { V::traits; }
struct InstanceTraits<V> {
  static constexpr bool unrolls_peers = V::traits.family == Family::one_shot || V::traits.family == Family::two_shot;
  static constexpr bool streams_outputs = unrolls_peers && V::traits.max_bytes == 0;
};

template <class V, class Isa, class T, int Ranks>
void sum_kernel(const Launch& launch, int index) {
  constexpr bool streams = InstanceTraits<V>::streams_outputs;
  if constexpr (!std::is_integral_v<T>) {
    if (launch.op == Op::avg) return run_kernel<V, Isa, T, Ranks, streams>(launch, index, Sum{}, Average{launch.ranks});
  }
  run_kernel<V, Isa, T, Ranks, streams>(launch, index, Sum{}, NoEpilogue{});
}
template <class V, class Isa, class T>
void any_kernel(const Launch& launch, int index) {
  const auto& epilogue = *static_cast<const AnyEpilogue<T>*>(launch.epilogue);
  const bool plain = epilogue.kind == EpilogueKind::none && epilogue.divisor == 1;
  run_kernel<V, Isa, T, 0, false>(launch, index, CalledOp<Isa, T>{op_function<Isa, T>(launch.op)},
                                  CalledEpilogue<Isa, T>{plain ? nullptr : epilogue_function<Isa, T>(), epilogue});
}

/// Sums of unsigned integers are those of the signed ones, to the bit.
template <class T>
using SumType = typename std::conditional_t<std::is_integral_v<T>,
                                            std::make_signed<std::conditional_t<std::is_integral_v<T>, T, int>>,
                                            std::type_identity<T>>::type;

template <class V, class Isa>
KernelTable make_kernels() {
  KernelTable table;
  for (const DType dtype : all_of<DType>()) {
    const auto d = static_cast<std::size_t>(dtype);
    with_dtype(dtype, [&]<class T>() {
      if constexpr (Isa::compiles_sums && sizeof(T) > 1) {
        table.sum[d] = &sum_kernel<V, Isa, SumType<T>, 0>;
        table.sum2[d] = table.sum[d];
        if constexpr (InstanceTraits<V>::unrolls_peers) table.sum2[d] = &sum_kernel<V, Isa, SumType<T>, 2>;
      }
      table.any[d] = &any_kernel<V, Isa, T>;
    });
  }
  return table;
}

/// Defined in a generated translation unit per variant and instruction set.
template <class V, class Isa>
const KernelTable& kernels_of();

}  // namespace attune::host
