#pragma once
/// Forced in front of every file of kernels that is compiled for the host (-include): the words of CUDA C++ that the
/// compiler does not know, with the meaning that runtime/block.cpp gives them. A block is one OS thread, so what is
/// local to a thread is what the block shares.
#define ATTUNE_CUDA_EMULATED 1

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>

#include "device/unroll.h"
#include "device_calls.h"
#include "host_kernels.h"

// The compiler of the host warns of loops that it changes all the same.
#undef ATTUNE_NO_UNROLL
#define ATTUNE_NO_UNROLL

#undef __shared__
#define __shared__ static thread_local
#undef __global__
#define __global__ [[gnu::visibility("default"), gnu::used]]
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __forceinline__
#define __forceinline__ inline

extern __thread uint3 threadIdx, blockIdx;
extern __thread uint3 attune_emulator_block_dim, attune_emulator_grid_dim;
#define blockDim attune_emulator_block_dim
#define gridDim attune_emulator_grid_dim
inline constexpr int warpSize = 32;

inline void __syncthreads() { attune_emulator_syncthreads(); }
inline int __syncthreads_count(int predicate) { return attune_emulator_syncthreads_count(predicate); }
inline int __syncthreads_or(int predicate) { return attune_emulator_syncthreads_count(predicate != 0) != 0; }
inline int __syncthreads_and(int predicate) { return attune_emulator_syncthreads_count(predicate == 0) == 0; }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFU) { attune_emulator_syncwarp(mask); }
inline void __nanosleep(unsigned /*ns*/) { attune_emulator_pause(); }
[[noreturn]] inline void __trap() { attune_emulator_trap(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline long long clock64() { return static_cast<long long>(attune_emulator_globaltimer()); }

template <class T>
T __ldg(const T* p) {
  return *p;
}
template <class T>
T __ldcs(const T* p) {
  return *p;
}
template <class T>
T __ldcg(const T* p) {
  return *p;
}
template <class T>
void __stcs(T* p, T value) {
  *p = value;
}

namespace attune::emulator {

/// What the lane `from` has brought; my own value when it is not in the warp.
template <class T>
T take_from(unsigned mask, T mine, unsigned from, unsigned first, unsigned last) {
  static_assert(sizeof(T) <= 16);
  std::byte all[32][16];
  attune_emulator_gather(mask, &mine, sizeof(T), all);
  if (from < first || from > last) return mine;
  T theirs;
  std::memcpy(&theirs, all[from], sizeof(T));
  return theirs;
}
inline unsigned first_of_group(int width) {
  return attune_emulator_lane() / static_cast<unsigned>(width) * static_cast<unsigned>(width);
}

}  // namespace attune::emulator

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const unsigned first = attune::emulator::first_of_group(width);
  return attune::emulator::take_from(mask, value, first + static_cast<unsigned>(from % width), 0, 31);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int /*width*/ = 32) {
  return attune::emulator::take_from(mask, value, attune_emulator_lane() ^ static_cast<unsigned>(bits), 0, 31);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned first = attune::emulator::first_of_group(width), last = first + static_cast<unsigned>(width) - 1;
  return attune::emulator::take_from(mask, value, attune_emulator_lane() + by, first, last);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned first = attune::emulator::first_of_group(width), last = first + static_cast<unsigned>(width) - 1;
  return attune::emulator::take_from(mask, value, attune_emulator_lane() - by, first, last);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  std::byte all[32][16];
  attune_emulator_gather(mask, &predicate, sizeof predicate, all);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    int vote = 0;
    std::memcpy(&vote, all[lane], sizeof vote);
    if ((mask >> lane & 1U) != 0 && vote != 0) votes |= 1U << lane;
  }
  return votes;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }
