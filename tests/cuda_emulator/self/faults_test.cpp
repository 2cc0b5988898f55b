/// What goes wrong on a device stays wrong (sticky), and host code cannot touch what only the device may.
/// Every test ends a device of its own.
#include <sys/mman.h>

#include "check.h"
#include "launches.h"

namespace attune::emulator_test {
namespace {

TEST(Faults, ATrapEndsTheDevice) {
  ASSERT_CUDA(cudaSetDevice(1));
  launch_trap({2, 32});
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 16), cudaErrorLaunchFailure);
}

TEST(Faults, ReleasedMemoryFaults) {
  ASSERT_CUDA(cudaSetDevice(2));
  int* p = device_array<int>(4);
  launch_write_one({1, 1}, p, 5);
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_CUDA(cudaFree(p));
  launch_write_one({1, 1}, p, 5);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

TEST(Faults, MemoryOfAPeerMustBeEnabled) {
  const int key = pkey_alloc(0, 0);
  if (key < 0) GTEST_SKIP() << "this processor has no protection keys";
  pkey_free(key);
  ASSERT_CUDA(cudaSetDevice(3));
  int* theirs = device_array<int>(4);
  ASSERT_CUDA(cudaSetDevice(4));
  ASSERT_CUDA(cudaDeviceEnablePeerAccess(3, 0));
  launch_write_one({1, 1}, theirs, 5);
  EXPECT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(cudaDeviceDisablePeerAccess(3));
  launch_write_one({1, 1}, theirs, 6);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  ASSERT_CUDA(cudaSetDevice(3));
  EXPECT_EQ(content_of(theirs, 1)[0], 5);
}

TEST(Faults, ThreadsThatWaitForEachOtherEnd) {
  ASSERT_CUDA(cudaSetDevice(5));
  launch_half_of_a_barrier({1, 2});
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
}

TEST(FaultsDeathTest, HostCodeCannotTouchDeviceMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  ASSERT_CUDA(cudaSetDevice(6));
  const int key = pkey_alloc(0, 0);
  if (key < 0) GTEST_SKIP() << "this processor has no protection keys";
  pkey_free(key);
  volatile int* p = device_array<int>(4);
  launch_write_one({1, 1}, const_cast<int*>(p), 5);
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_DEATH(*p = 1, "host code touches device memory");
}

TEST(FaultsDeathTest, WritingBehindAnAllocationIsNoticed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  ASSERT_CUDA(cudaSetDevice(7));
  int* p = device_array<int>(3);
  launch_write_one({1, 1}, p + 3, 5);
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_DEATH(cudaFree(p), "written behind the 12 bytes");
}

}  // namespace
}  // namespace attune::emulator_test
