/// Memory, streams and events behave as the real ones: poisoned, asynchronous, ordered.
#include <chrono>
#include <cstring>
#include <thread>

#include "check.h"
#include "launches.h"

namespace attune::emulator_test {
namespace {

using namespace std::chrono_literals;

void CUDART_CB sleep_a_moment(void* done) {
  std::this_thread::sleep_for(50ms);
  *static_cast<bool*>(done) = true;
}

TEST(Memory, IsFreshWithNans) {
  const float* p = device_array<float>(100);
  for (const float value : content_of(p, 100)) ASSERT_NE(value, value);
}

TEST(Memory, HasEndsAndKinds) {
  auto* p = device_array<char>(1000);
  std::vector<char> host(2000);
  EXPECT_EQ(cudaMemcpy(p, host.data(), 1001, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(p, host.data(), 10, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(p + 1), cudaErrorInvalidValue);
  cudaPointerAttributes attributes;
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, p + 999));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, host.data()));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  ASSERT_CUDA(cudaHostRegister(host.data(), host.size(), cudaHostRegisterMapped));
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, host.data() + 5));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaHostRegister(host.data(), host.size(), 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_CUDA(cudaHostUnregister(host.data()));
  EXPECT_CUDA(cudaFree(p));
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
}

TEST(Memory, RunsOut) {
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, std::size_t{5} << 30U), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
}

TEST(Memory, OfTheHostIsSeenByKernels) {
  void* p = nullptr;
  ASSERT_CUDA(cudaHostAlloc(&p, 16, cudaHostAllocMapped | cudaHostAllocPortable));
  void* seen = nullptr;
  ASSERT_CUDA(cudaHostGetDevicePointer(&seen, p, 0));
  std::memset(p, 0, 16);
  launch_add({1, 4}, static_cast<int*>(seen), 4, 7);
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(static_cast<int*>(p)[3], 7);
  EXPECT_CUDA(cudaFreeHost(p));
}

TEST(Streams, ReturnBeforeTheWorkIsDone) {
  const auto stream = make_stream();
  bool done = false;
  ASSERT_CUDA(cudaLaunchHostFunc(stream, &sleep_a_moment, &done));
  int* data = device_array<int>(32);
  ASSERT_CUDA(cudaMemsetAsync(data, 0, 128, stream));
  launch_append({1, 32, stream}, data, 1);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_FALSE(done);
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_TRUE(done);
  EXPECT_CUDA(cudaStreamQuery(stream));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // "not ready" is none
  EXPECT_EQ(content_of(data, 32), std::vector<int>(32, 1));
  EXPECT_CUDA(cudaStreamDestroy(stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
}

TEST(Streams, KeepTheirOrderAndFollowEvents) {
  const auto a = make_stream(), b = make_stream();
  const auto event = make_event();
  int* data = device_array(std::vector<int>(32, 0));
  for (int round = 0; round < 10; ++round) {
    ASSERT_CUDA(cudaMemsetAsync(data, 0, 128, a));
    launch_append({1, 32, a}, data, 1);
    ASSERT_CUDA(cudaEventRecord(event, a));
    ASSERT_CUDA(cudaStreamWaitEvent(b, event, 0));
    launch_append({1, 32, b}, data, 2);
    ASSERT_CUDA(cudaEventRecord(event, b));
    ASSERT_CUDA(cudaStreamWaitEvent(a, event, 0));
    launch_append({1, 32, a}, data, 3);
    ASSERT_CUDA(cudaStreamSynchronize(a));
    ASSERT_EQ(content_of(data, 1)[0], 2 * (2 * 1 + 2) + 3);
  }
}

// Nothing orders two streams without an event: delays show it.
TEST(Streams, AreNotOrderedOtherwise) {
  const auto a = make_stream(), b = make_stream();
  int* data = device_array(std::vector<int>(1, 0));
  int other_order = 0;
  for (int round = 0; round < 60; ++round) {
    ASSERT_CUDA(cudaMemset(data, 0, 4));
    launch_append({1, 1, a}, data, 1);
    launch_append({1, 1, b}, data, 2);
    ASSERT_CUDA(cudaDeviceSynchronize());
    other_order += content_of(data, 1)[0] == 2 * 2 + 1 ? 1 : 0;
  }
  EXPECT_GT(other_order, 0);
}

TEST(Streams, OfTheDefaultKindWaitForEachOther) {
  cudaStream_t blocking = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&blocking));
  int* data = device_array(std::vector<int>(1, 0));
  bool done = false;
  ASSERT_CUDA(cudaLaunchHostFunc(blocking, &sleep_a_moment, &done));
  launch_append({1, 1, blocking}, data, 1);
  launch_append({1, 1, nullptr}, data, 2);
  launch_append({1, 1, blocking}, data, 3);
  ASSERT_CUDA(cudaStreamSynchronize(blocking));
  EXPECT_EQ(content_of(data, 1)[0], 2 * (2 * 1 + 2) + 3);
}

TEST(Events, MeasureWhatLiesBetween) {
  const auto stream = make_stream();
  const auto from = make_event(), to = make_event();
  bool done = false;
  float milliseconds = 0;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, from, to), cudaErrorInvalidResourceHandle);
  ASSERT_CUDA(cudaEventRecord(from, stream));
  ASSERT_CUDA(cudaLaunchHostFunc(stream, &sleep_a_moment, &done));
  ASSERT_CUDA(cudaEventRecord(to, stream));
  EXPECT_EQ(cudaEventQuery(to), cudaErrorNotReady);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, from, to), cudaErrorNotReady);
  ASSERT_CUDA(cudaEventSynchronize(to));
  ASSERT_CUDA(cudaEventElapsedTime(&milliseconds, from, to));
  EXPECT_GE(milliseconds, 50);
  cudaEvent_t untimed = nullptr;
  ASSERT_CUDA(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  ASSERT_CUDA(cudaEventRecord(untimed, stream));
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, from, untimed), cudaErrorInvalidResourceHandle);
}

TEST(Devices, HaveNamesAndPeers) {
  int count = 0;
  ASSERT_CUDA(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 8);
  cudaDeviceProp properties;
  ASSERT_CUDA(cudaGetDeviceProperties(&properties, 1));
  EXPECT_EQ(std::string(properties.name).find("emulated"), 0U);
  int can = 0;
  ASSERT_CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  ASSERT_CUDA(cudaDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
  ASSERT_CUDA(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaSetDevice(8), cudaErrorInvalidDevice);
  int multicast = 1;  // the driver's CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED has no name in the runtime
  ASSERT_CUDA(cudaDeviceGetAttribute(&multicast, static_cast<cudaDeviceAttr>(132), 0));
  EXPECT_EQ(multicast, 0);
}

}  // namespace
}  // namespace attune::emulator_test
