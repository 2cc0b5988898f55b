#pragma once
/// From a variant to kernels: one for each variant, element type and rank count (2, 4 and 8 where peer loops are
/// unrolled, 0 = any), with every op and epilogue inside (device/cuda_any.cuh). Only the element types of models get
/// kernels of their own for 2, 4 and 8 ranks; with a rank count at run time all loads are in flight as well, so the
/// rest would double the code and the hours of ptxas for a few instructions.
#include <type_traits>

#include "core/traits.h"
#include "device/cuda_any.cuh"
#include "device/cuda_block.cuh"
#include "device/cuda_multimem.cuh"
#include "runtime/cuda_tables.h"

namespace attune::cuda {

template <class T>
ATTUNE_DEVICE AnyEpilogue<T> epilogue_of(const Launch& launch) {
  const EpilogueArguments& given = launch.epilogue;
  return {given.kind, given.divisor, given.scale, static_cast<const T*>(given.operand), given.cols, given.base};
}

/// What a variant's traits, or a kernel without any, mean for its instances.
template <class V>
struct InstanceTraits {
  static constexpr bool unrolls_peers = false;
  static constexpr bool holds_much = false;
};
template <class V>
requires requires { V::traits; }
struct InstanceTraits<V> {
  static constexpr bool unrolls_peers = V::traits.family == Family::one_shot || V::traits.family == Family::two_shot ||
                                        V::traits.family == Family::multimem || V::traits.family == Family::fused;
  static constexpr bool holds_much = V::traits.needs == Needs::mailboxes || V::traits.needs == Needs::peer_slots;
};

/// The launch bound. Packs of 16 accumulators, letters of all peers with their flags, and slots of three steps need
/// more registers than the 128 that blocks of 512 threads leave to each.
template <class V, class T>
inline constexpr int most_threads = sizeof(T) == 1 || InstanceTraits<V>::holds_much ? max_threads / 2 : max_threads;

template <class V, class T, int Ranks>
__global__ void __launch_bounds__(most_threads<V, T>, 1) allreduce_kernel(const __grid_constant__ Launch launch) {
  __shared__ BlockMemory memory[1];
  Block<T> block(launch, memory[0]);
  const Buffers<T> buffers{launch.count, launch.chunk, launch, memory[0]};
  V::template run<Ranks, T>(block, Team<Ranks>(launch.rank, launch.ranks), buffers, AnyOp{launch.op},
                            epilogue_of<T>(launch));
  block.finish();
}

template <class T>
inline constexpr bool of_models = std::is_same_v<T, float> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

/// `entry.operator()<T, Ranks>()` gives the kernel.
template <class V, class T, class Entry>
void fill(KernelTable& table, Entry entry) {
  auto& row = table.entry[static_cast<std::size_t>(dtype_of<T>)];
  row[0] = entry.template operator()<T, 0>();
  if constexpr (InstanceTraits<V>::unrolls_peers && of_models<T>) {
    row[1] = entry.template operator()<T, 2>();
    row[2] = entry.template operator()<T, 4>();
    row[3] = entry.template operator()<T, 8>();
  }
}

template <class V>
KernelTable make_kernels(const char* name) {
  KernelTable table;
  const auto entry = [name]<class T, int Ranks>() {
    return KernelEntry{reinterpret_cast<const void*>(&allreduce_kernel<V, T, Ranks>), most_threads<V, T>, name};
  };
  for (const DType dtype : all_of<DType>()) with_dtype(dtype, [&]<class T>() { fill<V, T>(table, entry); });
  return table;
}

}  // namespace attune::cuda
