#pragma once
/// Streams: a thread each, work in order, calls that return before it is done. Events are markers in that order;
/// capture turns work into the nodes of a graph.
#include <cuda_runtime_api.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "device.h"

namespace attune::emulator {

using Work = std::function<cudaError_t()>;

/// A place in a stream: done when everything before it is.
struct Marker {
  bool done = false;
  std::chrono::steady_clock::time_point at;
};
using MarkerPtr = std::shared_ptr<Marker>;

struct Node {
  Work work;
  std::vector<std::size_t> after;
};
struct Graph {
  std::vector<Node> nodes;
};
struct Stream;

/// A capture under way: the graph, and whose it is.
struct Capture {
  Graph graph;
  Stream* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  unsigned long long number = 0;  ///< Of no other capture of this process, past ones included.
  bool invalid = false;
  std::vector<Stream*> streams;
};
using CapturePtr = std::shared_ptr<Capture>;

struct Stream {
  struct Op {
    Work work;
    MarkerPtr marker;
    std::vector<MarkerPtr> after;
  };
  Device* device = nullptr;
  bool blocking = true;  ///< waits for the default stream and is waited for by it
  bool is_default = false;
  bool ends = false;
  std::deque<Op> ops;
  MarkerPtr last;  ///< of what was enqueued last
  CapturePtr capture;
  std::vector<std::size_t> tail;  ///< nodes that the next one comes after
};

struct Event {
  MarkerPtr marker;
  bool timed = true;
  Device* device = nullptr;
  CapturePtr capture;  ///< recorded while capturing
  std::vector<std::size_t> nodes;
};

struct GraphExec {
  std::shared_ptr<const Graph> graph;
  MarkerPtr last;
};

/// The handle's stream, or null for one that does not exist. 0 is the default stream of the current device.
[[nodiscard]] Stream* stream_of(cudaStream_t handle);
[[nodiscard]] Stream* make_stream(bool blocking);
/// False when the handle is not one of ours (or no longer).
bool end_stream(Stream* stream);

/// Runs work in the stream's order; while capturing, makes a node of it. `marker`, when given, gets the place behind
/// the work (not while capturing).
cudaError_t enqueue(Stream& stream, Work work, MarkerPtr* marker = nullptr, std::vector<MarkerPtr> after = {});
cudaError_t record(Event& event, Stream& stream);
cudaError_t wait_event(Stream& stream, const Event& event);
cudaError_t begin_capture(Stream& stream, cudaStreamCaptureMode mode);
cudaError_t end_capture(Stream& stream, Graph** graph);
cudaError_t launch(GraphExec& exec, Stream& stream);

/// Waits for a marker (null: at once).
void wait(const MarkerPtr& marker);
[[nodiscard]] bool is_done(const MarkerPtr& marker);
/// Waits for everything that was enqueued on a device.
void wait_for_device(const Device& device);
[[nodiscard]] MarkerPtr last_of(const Stream& stream);
/// cudaErrorStreamCaptureUnsupported, with the capture invalidated, when this thread must not call what might wait.
[[nodiscard]] cudaError_t refuse_while_capturing(const Stream* stream = nullptr);
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);

}  // namespace attune::emulator
