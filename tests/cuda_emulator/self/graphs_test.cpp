/// Capture turns calls into a graph, refuses what real capture refuses, and graphs replay.
#include <set>

#include "check.h"
#include "launches.h"

namespace attune::emulator_test {
namespace {

class Capture : public testing::Test {
 protected:
  cudaGraphExec_t end_and_instantiate() const {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    EXPECT_CUDA(cudaStreamEndCapture(stream_, &graph));
    EXPECT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    EXPECT_CUDA(cudaGraphDestroy(graph));
    return exec;
  }
  void begin() const { ASSERT_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal)); }
  cudaStream_t stream_ = make_stream();
  int* data_ = device_array(std::vector<int>(32, 0));
};

TEST_F(Capture, RunsNothingUntilLaunchedAndThenReplays) {
  begin();
  launch_append({1, 32, stream_}, data_, 1);
  launch_append({1, 32, stream_}, data_, 3);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ASSERT_CUDA(cudaStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  const auto exec = end_and_instantiate();
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(content_of(data_, 1)[0], 0);
  int want = 0;
  for (int replay = 0; replay < 5; ++replay) {
    ASSERT_CUDA(cudaGraphLaunch(exec, stream_));
    want = 2 * (2 * want + 1) + 3;
  }
  ASSERT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(content_of(data_, 1)[0], want);
  ASSERT_CUDA(cudaGraphExecDestroy(exec));
}

TEST_F(Capture, KeepsArgumentsOfTheCall) {
  begin();
  {
    int value = 5;
    launch_append({1, 32, stream_}, data_, value);
    value = 6;
  }
  ASSERT_CUDA(cudaGraphLaunch(end_and_instantiate(), stream_));
  ASSERT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(content_of(data_, 1)[0], 5);
}

// By number, programs tell a capture from an earlier one, whose memory may have become the new one's.
TEST_F(Capture, HasANumberOfItsOwn) {
  std::set<unsigned long long> numbers;
  for (int k = 0; k < 5; ++k) {
    begin();
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long number = 0;
    ASSERT_CUDA(cudaStreamGetCaptureInfo(stream_, &status, &number));
    numbers.insert(number);
    cudaGraph_t graph = nullptr;
    ASSERT_CUDA(cudaStreamEndCapture(stream_, &graph));
    ASSERT_CUDA(cudaGraphDestroy(graph));
  }
  EXPECT_EQ(numbers.size(), 5U);
}

// Branches run beside each other, or two kernels that wait for each other would never end.
TEST_F(Capture, ForksAndJoins) {
  const auto other = make_stream();
  const auto fork = make_event(), join = make_event();
  unsigned* flags = device_array(std::vector<unsigned>(2, 0));
  int* met = device_array(std::vector<int>(2, 0));
  begin();
  ASSERT_CUDA(cudaEventRecord(fork, stream_));
  ASSERT_CUDA(cudaStreamWaitEvent(other, fork, 0));
  launch_append({1, 32, other}, data_, 1);  // one branch is longer
  launch_meet({1, 32, stream_}, flags, flags + 1, 1, 10000000, met);
  launch_meet({1, 32, other}, flags + 1, flags, 1, 10000000, met + 1);
  ASSERT_CUDA(cudaEventRecord(join, other));
  ASSERT_CUDA(cudaStreamWaitEvent(stream_, join, 0));
  const auto exec = end_and_instantiate();
  ASSERT_CUDA(cudaGraphLaunch(exec, stream_));
  ASSERT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(content_of(met, 2), (std::vector<int>{1, 1}));
}

TEST_F(Capture, MustBeJoined) {
  const auto other = make_stream();
  const auto fork = make_event();
  cudaGraph_t graph = nullptr;
  begin();
  ASSERT_CUDA(cudaEventRecord(fork, stream_));
  ASSERT_CUDA(cudaStreamWaitEvent(other, fork, 0));
  launch_append({1, 32, other}, data_, 1);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureUnjoined);
}

TEST_F(Capture, IsInvalidAfterWhatMustWait) {
  cudaGraph_t graph = nullptr;
  begin();
  launch_append({1, 32, stream_}, data_, 1);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  begin();
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 16), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  begin();
  const auto event = make_event();
  const auto other = make_stream();
  cudaEventRecord(event, other);
  EXPECT_EQ(cudaStreamWaitEvent(stream_, event, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Capture, OfABlockingStreamBarsTheDefaultOne) {
  cudaStream_t blocking = nullptr;
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&blocking));
  ASSERT_CUDA(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
  launch_append({1, 1, nullptr}, data_, 1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed), cudaErrorStreamCaptureUnsupported);
  cudaStreamEndCapture(blocking, &graph);
}

}  // namespace
}  // namespace attune::emulator_test
