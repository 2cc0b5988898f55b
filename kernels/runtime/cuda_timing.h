#pragma once
/// Timing on a GPU: a common start on the device, events around calls, graphs of calls, and memory for both. Declared
/// in every build; without CUDA everything throws Error(device).
#include <functional>
#include <memory>

#include "core/types.h"

namespace attune::cuda {

/// Zeroed device memory of this rank alone (no peer can address it), freed with the last owner.
[[nodiscard]] std::shared_ptr<std::byte> local_memory(Bytes bytes);
/// Zeroed page-locked memory of the host.
[[nodiscard]] std::shared_ptr<std::byte> pinned_memory(Bytes bytes);

/// One sample: arm(), begin(), enqueue calls on stream(), end(); then, when all ranks are here, go(); elapsed_us().
class LaunchTimer {
 public:
  /// On the current device, with a stream of its own. `timeout_s` bounds the wait at the start line; 0 = none.
  explicit LaunchTimer(double timeout_s);
  ~LaunchTimer();
  LaunchTimer(const LaunchTimer&) = delete;
  LaunchTimer& operator=(const LaunchTimer&) = delete;

  /// A cudaStream_t.
  [[nodiscard]] void* stream() const;
  /// Everything behind this in the stream waits for go().
  void arm();
  void begin();
  void end();
  /// Releases the stream: a store to pinned memory that the GPU polls.
  void go();
  /// Waits for end(). Microseconds from begin() to end() on the GPU.
  [[nodiscard]] double elapsed_us();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Calls captured in a graph.
class CapturedCalls {
 public:
  /// Captures what `calls` enqueues on the stream.
  CapturedCalls(void* stream, const std::function<void()>& calls);
  ~CapturedCalls();
  CapturedCalls(const CapturedCalls&) = delete;
  CapturedCalls& operator=(const CapturedCalls&) = delete;

  /// Makes the graph executable. After Communicator::complete_capture.
  void finish();
  /// Enqueues it on the stream.
  void launch();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune::cuda
