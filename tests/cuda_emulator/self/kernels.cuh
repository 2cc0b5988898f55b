#pragma once
/// Kernels of the emulator's own tests: compiled by nvcc for the program, and for the host with the shim.
#include <cuda_bf16.h>
#include <cuda/atomic>

namespace attune::emulator_test {

/// out[global thread] = its place in grid and block, packed.
__global__ void indices(int* out) {
  const int block = static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x);
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const int threads = static_cast<int>(blockDim.x * blockDim.y);
  out[block * threads + thread] = block * 10000 + thread;
}

/// out[block] = sum of the block's part of `in`, through shared memory.
__global__ void block_sums(const float* in, float* out) {
  __shared__ float partial[1024];
  const unsigned t = threadIdx.x;
  partial[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (t < step) partial[t] += partial[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = partial[0];
}

/// The same with a barrier left out: a planted race.
__global__ void racing_sums(const float* in, float* out) {
  __shared__ float partial[1024];
  const unsigned t = threadIdx.x;
  partial[t] = in[blockIdx.x * blockDim.x + t];
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (t < step) partial[t] += partial[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = partial[0];
}

/// out[thread] = sum over its warp; then the lane above; then votes.
__global__ void warps(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  int sum = t;
  for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(0xFFFFFFFFU, sum, bits);
  const int above = __shfl_down_sync(0xFFFFFFFFU, t, 1);
  const int first = __shfl_sync(0xFFFFFFFFU, t, 0);
  const unsigned odd = __ballot_sync(0xFFFFFFFFU, t % 2);
  out[4 * t] = sum;
  out[4 * t + 1] = above;
  out[4 * t + 2] = first;
  out[4 * t + 3] = static_cast<int>(odd);
}

__global__ void add(int* data, int count, int value) {
  const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < count) data[k] += value;
}

/// data[k] = 2 * data[k] + value: shows in which order kernels ran.
__global__ void append(int* data, int value) { data[threadIdx.x] = 2 * data[threadIdx.x] + value; }

/// bf16 in device code and its host build.
__global__ void to_bf16(const float* in, __nv_bfloat16* out) { out[threadIdx.x] = __float2bfloat16(in[threadIdx.x]); }

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

/// Raises a flag, waits for another: deadlocks unless both kernels run at the same time. Gives up after `turns`.
__global__ void meet(unsigned* mine, unsigned* theirs, unsigned epoch, int turns, int* met) {
  if (threadIdx.x == 0) {
    Flag(*mine).store(epoch, cuda::std::memory_order_release);
    int turn = 0;
    while (Flag(*theirs).load(cuda::std::memory_order_acquire) < epoch && ++turn < turns) __nanosleep(100);
    *met = turn < turns ? 1 : 0;
  }
}

struct Message {
  const int* in;
  int* out;         ///< a peer's memory
  unsigned* raise;  ///< the peer's flag
  unsigned* await;  ///< my flag
  int count;
  unsigned epoch;
};
/// A message into a peer's memory, all threads; then its flag; then mine.
__global__ void exchange(const __grid_constant__ Message m) {
  for (int k = static_cast<int>(threadIdx.x); k < m.count; k += static_cast<int>(blockDim.x)) m.out[k] = m.in[k];
  __syncthreads();
  if (threadIdx.x == 0) {
    Flag(*m.raise).store(m.epoch, cuda::std::memory_order_release);
    while (Flag(*m.await).load(cuda::std::memory_order_acquire) != m.epoch) __nanosleep(100);
  }
  __syncthreads();
}

__global__ void trap() {
  if (threadIdx.x == 3) __trap();
}
__global__ void half_of_a_barrier() {
  if (threadIdx.x % 2 == 0) __syncwarp(0x3U);
  __syncthreads();
}

template <class T>
__global__ void write_one(T* at, T value) {
  *at = value;
}

}  // namespace attune::emulator_test
