/// Failures that the environment plants: the nth call of a name, a kernel, on this rank or another.
#include <cstdlib>

#include "check.h"
#include "launches.h"

namespace attune::emulator_test {
namespace {

// Before anything asks: settings are read once.
const bool planted = setenv("ATTUNE_EMULATOR_FAIL",
                            "cudaMalloc:3,cudaHostAlloc:1=801,cudaStreamQuery:1@5,kernel:2,cudaGetDevice", 1) == 0 &&
                     setenv("ATTUNE_EMULATOR_PEERS", "0-1,2>3", 1) == 0 &&
                     setenv("CUDA_VISIBLE_DEVICES", "3,0,1,9,2", 1) == 0;

TEST(Planted, FailuresHitTheCallThatWasNamed) {
  ASSERT_TRUE(planted);
  void* p = nullptr;
  EXPECT_CUDA(cudaMalloc(&p, 16));
  EXPECT_CUDA(cudaMalloc(&p, 16));
  EXPECT_EQ(cudaMalloc(&p, 16), cudaErrorMemoryAllocation);
  EXPECT_CUDA(cudaMalloc(&p, 16));
  EXPECT_EQ(cudaHostAlloc(&p, 16, 0), cudaErrorNotSupported);
  EXPECT_CUDA(cudaStreamQuery(nullptr));  // planted on rank 5
  int ordinal = 0;
  EXPECT_EQ(cudaGetDevice(&ordinal), cudaErrorOperatingSystem);
  EXPECT_CUDA(cudaGetDevice(&ordinal));
}

// Ordinals 0, 1, 2 are the physical devices 3, 0, 1; the list ends at a device that does not exist.
TEST(Planted, PeerMatrixIsThatOfPhysicalDevices) {
  int count = 0, can = 1;
  ASSERT_CUDA(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 3);
  ASSERT_CUDA(cudaDeviceCanAccessPeer(&can, 1, 2));
  EXPECT_EQ(can, 1);
  ASSERT_CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 0);
  ASSERT_CUDA(cudaSetDevice(0));
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessUnsupported);
}

TEST(Planted, KernelsFailLate) {
  int* data = device_array(std::vector<int>(4, 0));
  launch_add({1, 4}, data, 4, 1);
  EXPECT_CUDA(cudaDeviceSynchronize());
  launch_add({1, 4}, data, 4, 1);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

}  // namespace
}  // namespace attune::emulator_test
