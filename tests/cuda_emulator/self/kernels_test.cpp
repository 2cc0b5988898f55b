/// Kernels that nvcc has compiled run from their host build: indices, barriers, warps, several at once.
#include <cstring>
#include <numeric>

#include "check.h"
#include "launches.h"

namespace attune::emulator_test {
namespace {

TEST(Kernels, KnowTheirPlaceInGridAndBlock) {
  constexpr int threads = 8 * 5, blocks = 3 * 2;
  int* out = device_array<int>(threads * blocks);
  launch_indices({dim3(3, 2), dim3(8, 5)}, out);
  ASSERT_CUDA(cudaGetLastError());
  const auto got = content_of(out, threads * blocks);
  for (int k = 0; k < threads * blocks; ++k) ASSERT_EQ(got[k], k / threads * 10000 + k % threads);
  EXPECT_CUDA(cudaFree(out));
}

std::vector<float> sums_of(void (*launch)(const Shape&, const float*, float*), unsigned threads, unsigned blocks) {
  std::vector<float> in(threads * blocks);
  std::iota(in.begin(), in.end(), 1.0F);
  float* from = device_array(in);
  float* out = device_array<float>(blocks);
  launch({blocks, threads}, from, out);
  EXPECT_CUDA(cudaGetLastError());
  const auto got = content_of(out, blocks);
  EXPECT_CUDA(cudaFree(from));
  EXPECT_CUDA(cudaFree(out));
  return got;
}
float sum_of_block(unsigned block, unsigned threads) {
  const auto n = static_cast<float>(threads), first = static_cast<float>(block * threads + 1);
  return n * first + n * (n - 1) / 2;
}

TEST(Kernels, MeetAtBlockBarriersAndShareMemory) {
  for (const unsigned threads : {1U, 2U, 64U, 256U, 1024U})
    for (const unsigned blocks : {1U, 5U}) {
      const auto got = sums_of(&launch_block_sums, threads, blocks);
      for (unsigned b = 0; b < blocks; ++b) ASSERT_EQ(got[b], sum_of_block(b, threads)) << threads;
    }
}

// The order of a block's threads changes from launch to launch, so that a missing barrier does not stay unseen.
TEST(Kernels, ShowAMissingBarrier) {
  int wrong = 0;
  for (int k = 0; k < 20; ++k) wrong += sums_of(&launch_racing_sums, 64, 1)[0] != sum_of_block(0, 64) ? 1 : 0;
  EXPECT_GT(wrong, 5);
}

TEST(Kernels, ExchangeWithinAWarp) {
  int* out = device_array<int>(256);
  launch_warps({1, 64}, out);
  const auto got = content_of(out, 256);
  for (int t = 0; t < 64; ++t) {
    const int first = t / 32 * 32;
    EXPECT_EQ(got[4 * t], 32 * first + 31 * 16);
    EXPECT_EQ(got[4 * t + 1], t % 32 == 31 ? t : t + 1);
    EXPECT_EQ(got[4 * t + 2], first);
    EXPECT_EQ(static_cast<unsigned>(got[4 * t + 3]), 0xAAAAAAAAU);
  }
  EXPECT_CUDA(cudaFree(out));
}

TEST(Kernels, RoundToBf16AsTheDeviceDoes) {
  float* in = device_array(std::vector<float>{1.0F, 1.00390625F, 1.01171875F, -3.0e38F});
  auto* out = device_array<unsigned short>(4);
  launch_to_bf16({1, 4}, in, out);
  const auto got = content_of(out, 4);
  EXPECT_EQ(got[0], 0x3F80);
  EXPECT_EQ(got[1], 0x3F80);  // a tie, to even
  EXPECT_EQ(got[2], 0x3F82);
}

// Both wait for each other: only kernels that really run at the same time can pass.
TEST(Kernels, OfTwoStreamsRunAtTheSameTime) {
  unsigned* flags = device_array(std::vector<unsigned>(2, 0));
  int* met = device_array<int>(2);
  const auto a = make_stream(), b = make_stream();
  for (unsigned epoch = 1; epoch <= 20; ++epoch) {
    launch_meet({1, 32, a}, flags, flags + 1, epoch, 10000000, met);
    launch_meet({1, 32, b}, flags + 1, flags, epoch, 10000000, met + 1);
  }
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(content_of(met, 2), (std::vector<int>{1, 1}));
}

// 16 multiprocessors hold 32 blocks of 1024 threads: who needs more at once hangs, as on hardware.
TEST(Kernels, OccupyTheMultiprocessors) {
  int blocks = 0;
  ASSERT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_kernel(), 1024, 0));
  EXPECT_EQ(blocks, 2);
  ASSERT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_kernel(), 33, 0));
  EXPECT_EQ(blocks, 32);
  int* data = device_array(std::vector<int>(100 * 1024, 1));
  launch_add({100, 1024}, data, 100 * 1024, 4);  // more than are resident: one after the other
  const auto got = content_of(data, 100 * 1024);
  EXPECT_EQ(std::accumulate(got.begin(), got.end(), 0), 5 * 100 * 1024);
}

TEST(Kernels, OfImpossibleShapesAreRefused) {
  int* data = device_array<int>(4);
  launch_add({1, 1025}, data, 4, 1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  launch_add({0, 32}, data, 4, 1);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(data, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
}

}  // namespace
}  // namespace attune::emulator_test
