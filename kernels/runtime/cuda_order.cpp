#include "runtime/cuda_order.h"

#include <chrono>
#include <thread>

namespace attune::cuda {

unsigned long long capture_of(cudaStream_t stream, const Place& place) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  check_cuda(cudaStreamGetCaptureInfo(stream, &status, &id), "cudaStreamGetCaptureInfo", place);
  if (status == cudaStreamCaptureStatusInvalidated)
    throw Error(Status::usage, "the stream's capture has failed before this call", "end the capture and begin anew");
  return status == cudaStreamCaptureStatusActive ? id + 1 : 0;  // a capture's number may be 0
}

void LaunchOrder::enter(cudaStream_t stream) {
  if (const auto capture = capture_of(stream, place_); capture != 0) {
    if (capture == capture_ && stream != captured_)
      throw Error(Status::usage, "calls of one communicator on two streams of one capture",
                  "capture them on one stream, or give each stream a communicator");
    capture_ = capture;
    captured_ = stream;
    return;
  }
  if (any_ && stream != last_) check_cuda(cudaStreamWaitEvent(stream, done_.get(), 0), "cudaStreamWaitEvent", place_);
}

void LaunchOrder::leave(cudaStream_t stream) {
  if (capture_of(stream, place_) != 0) return;
  check_cuda(cudaEventRecord(done_.get(), stream), "cudaEventRecord", place_);
  any_ = true;
  last_ = stream;
}

std::string LaunchOrder::drain(double limit_s) const {
  const auto start = std::chrono::steady_clock::now();
  while (any_) {
    const cudaError_t code = cudaEventQuery(done_.get());
    if (code != cudaErrorNotReady) return fault_of(code, "cudaEventQuery", place_);
    (void)cudaGetLastError();
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (limit_s > 0 && waited.count() > limit_s) return "the last call does not end";
    std::this_thread::yield();
  }
  return {};
}

}  // namespace attune::cuda
