#pragma once
/// EXPECT_CUDA(call): the call succeeds.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#define EXPECT_CUDA(call) EXPECT_EQ(call, cudaSuccess)
#define ASSERT_CUDA(call) ASSERT_EQ(call, cudaSuccess)

namespace attune::emulator_test {

template <class T>
T* device_array(std::size_t count) {
  void* p = nullptr;
  EXPECT_CUDA(cudaMalloc(&p, count * sizeof(T)));
  return static_cast<T*>(p);
}
template <class T>
T* device_array(const std::vector<T>& content) {
  T* p = device_array<T>(content.size());
  EXPECT_CUDA(cudaMemcpy(p, content.data(), content.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T>
std::vector<T> content_of(const T* p, std::size_t count) {
  std::vector<T> content(count);
  EXPECT_CUDA(cudaMemcpy(content.data(), p, count * sizeof(T), cudaMemcpyDeviceToHost));
  return content;
}
inline cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}
inline cudaEvent_t make_event() {
  cudaEvent_t event = nullptr;
  EXPECT_CUDA(cudaEventCreate(&event));
  return event;
}

}  // namespace attune::emulator_test
