#pragma once
/// The order of one team's launches: flags and counters are shared by all of them, so that they run one after the
/// other, whatever streams they are called on.
#include <cuda_runtime_api.h>

#include "runtime/cuda_check.h"

namespace attune::cuda {

/// A stream of its own that no other work can block.
class OwnStream {
 public:
  explicit OwnStream(const Place& place) {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags", place);
  }
  ~OwnStream() { (void)cudaStreamDestroy(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  explicit Event(const Place& place, unsigned int flags = cudaEventDisableTiming) {
    check_cuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags", place);
  }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// 0, or the number of the capture that this stream takes part in. Throws Error(usage) for a broken capture.
[[nodiscard]] unsigned long long capture_of(cudaStream_t stream, const Place& place);

class LaunchOrder {
 public:
  explicit LaunchOrder(const Place& place) : place_(place), done_(place) {}

  /// Before a launch on `stream`: it waits for the last one if that was on another stream. Within a capture, streams
  /// other than the first one of the team are refused, Error(usage): branches of a graph run at once.
  void enter(cudaStream_t stream);
  /// After it. The event outlives the stream.
  void leave(cudaStream_t stream);
  /// Waits, at most `limit_s`, until the last launch outside of graphs is done. A text when that fails.
  [[nodiscard]] std::string drain(double limit_s) const;

 private:
  Place place_;
  Event done_;
  bool any_ = false;
  cudaStream_t last_ = nullptr;
  unsigned long long capture_ = 0;
  cudaStream_t captured_ = nullptr;
};

}  // namespace attune::cuda
