#pragma once
/// What only the hardware can say: threads, the block barrier, memory accesses with a width, an order or a scope. Each
/// function has a second meaning in plain C++, for builds that execute kernels on a CPU (there the names of CUDA's
/// built-ins come from the build). Nothing else on cuda uses built-ins or PTX.
#include <cstdint>
#include <cstring>

#include "core/annotations.h"
#include "device/cuda_memory.h"
#ifdef __CUDACC__
#include <cuda/atomic>
#else
#include <atomic>
#endif

namespace attune::cuda {

[[nodiscard]] ATTUNE_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
[[nodiscard]] ATTUNE_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }
/// All threads of the block come here; what they wrote before, all see behind it.
ATTUNE_DEVICE void sync_block() { __syncthreads(); }

/// Ends the launch with an error, and with it every stream of this process.
ATTUNE_DEVICE void trap() { __trap(); }

#ifdef __CUDACC__
template <class Word>
using SystemWord = ::cuda::atomic_ref<Word, ::cuda::thread_scope_system>;
template <class Word>
using DeviceWord = ::cuda::atomic_ref<Word, ::cuda::thread_scope_device>;
inline constexpr auto order_relaxed = ::cuda::memory_order_relaxed;
inline constexpr auto order_acquire = ::cuda::memory_order_acquire;
inline constexpr auto order_release = ::cuda::memory_order_release;
inline constexpr auto order_both = ::cuda::memory_order_acq_rel;
#else
template <class Word>
using SystemWord = std::atomic_ref<Word>;
template <class Word>
using DeviceWord = std::atomic_ref<Word>;
inline constexpr auto order_relaxed = std::memory_order_relaxed;
inline constexpr auto order_acquire = std::memory_order_acquire;
inline constexpr auto order_release = std::memory_order_release;
inline constexpr auto order_both = std::memory_order_acq_rel;
#endif

/// ld.acquire.sys, st.release.sys: flags between GPUs. What the block wrote before a block barrier is released by any
/// of its threads behind that barrier (causality order is transitive), and the same for acquiring.
template <class Word>
[[nodiscard]] ATTUNE_DEVICE Word load_acquire(const Word& word) {
  return SystemWord<Word>(const_cast<Word&>(word)).load(order_acquire);
}
template <class Word>
ATTUNE_DEVICE void store_release(Word& word, Word value) {
  SystemWord<Word>(word).store(value, order_release);
}
template <class Word>
[[nodiscard]] ATTUNE_DEVICE Word load_relaxed(const Word& word) {
  return SystemWord<Word>(const_cast<Word&>(word)).load(order_relaxed);
}
template <class Word>
ATTUNE_DEVICE void store_relaxed(Word& word, Word value) {
  SystemWord<Word>(word).store(value, order_relaxed);
}

/// 16 bytes, as one thread moves them.
struct alignas(16) Quad {
  std::uint32_t word[4];
};

/// One 128-bit access each, to global memory. Said in PTX: compilers split what they know as eight elements of 16 bits,
/// and might take the read-only path to memory that peers write during the launch.
[[nodiscard]] ATTUNE_DEVICE Quad load_quad(const void* from) {
#ifdef __CUDACC__
  Quad quad;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(quad.word[0]), "=r"(quad.word[1]), "=r"(quad.word[2]), "=r"(quad.word[3])
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return quad;
#else
  if (reinterpret_cast<std::uintptr_t>(from) % sizeof(Quad) != 0) trap();
  Quad quad;
  std::memcpy(&quad, from, sizeof quad);
  return quad;
#endif
}
ATTUNE_DEVICE void store_quad(void* to, const Quad& quad) {
#ifdef __CUDACC__
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(quad.word[0]),
               "r"(quad.word[1]), "r"(quad.word[2]), "r"(quad.word[3])
               : "memory");
#else
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(Quad) != 0) trap();
  std::memcpy(to, &quad, sizeof quad);
#endif
}

/// A line of mail: two halves of 64 bits, each single-copy atomic at system scope.
ATTUNE_DEVICE void store_line(MailLine& to, std::uint32_t data0, std::uint32_t data1, std::uint32_t flag) {
  const std::uint64_t low = std::uint64_t{flag} << 32 | data0;
  const std::uint64_t high = std::uint64_t{flag} << 32 | data1;
#ifdef __CUDACC__
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(&to)), "l"(low), "l"(high)
               : "memory");
#else
  auto* half = reinterpret_cast<std::uint64_t*>(&to);
  store_release(half[0], low);
  store_release(half[1], high);
#endif
}
[[nodiscard]] ATTUNE_DEVICE MailLine load_line(const MailLine& from) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
#ifdef __CUDACC__
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(low), "=l"(high)
               : "l"(__cvta_generic_to_global(&from))
               : "memory");
#else
  const auto* half = reinterpret_cast<const std::uint64_t*>(&from);
  low = load_acquire(half[0]);
  high = load_acquire(half[1]);
#endif
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32), static_cast<std::uint32_t>(high),
          static_cast<std::uint32_t>(high >> 32)};
}

/// The same bits, of which the compiler knows nothing: what branches have in common behind it (widening every rank's
/// pack) is not done before them, where all results would be alive at once and spill.
[[nodiscard]] ATTUNE_DEVICE Quad keep_here(Quad quad) {
#ifdef __CUDACC__
  asm volatile("" : "+r"(quad.word[0]), "+r"(quad.word[1]), "+r"(quad.word[2]), "+r"(quad.word[3]));
#endif
  return quad;
}

/// The value of the thread `distance` lanes away (butterfly); all threads of the warp call it.
[[nodiscard]] ATTUNE_DEVICE double exchange_in_warp(double value, int distance) {
  return __shfl_xor_sync(0xFFFFFFFFU, value, distance);
}

/// Nanoseconds of a clock that all blocks of a device share.
[[nodiscard]] ATTUNE_DEVICE std::uint64_t now_ns() {
#ifdef __CUDACC__
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
#else
  return attune_emulator_globaltimer();
#endif
}
/// A breath between two polls of a wait, of which this is the turn-th; the first polls follow each other at once.
ATTUNE_DEVICE void relax(unsigned turn) {
#ifdef __CUDACC__
  if (turn > 64) __nanosleep(20);
#else
  __nanosleep(turn);
#endif
}
/// Accesses through multicast addresses and through a rank's own addresses of the same memory are of two proxies.
ATTUNE_DEVICE void fence_aliases() {
#ifdef __CUDACC__
  asm volatile("fence.proxy.alias;" ::: "memory");
#endif
}
/// What was written before, host and peers see before what is written behind it.
ATTUNE_DEVICE void fence_system() { __threadfence_system(); }
}  // namespace attune::cuda
