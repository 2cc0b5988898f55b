#include "capture.h"

#include <algorithm>
#include <utility>

namespace attune::emulator {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

/// Whether all of `wanted` come before (or are among) `from`.
bool are_before(const Graph& graph, const std::vector<std::size_t>& from, const std::vector<std::size_t>& wanted) {
  std::vector<bool> seen(graph.nodes.size());
  std::vector<std::size_t> waiting = from;
  while (!waiting.empty()) {
    const auto node = waiting.back();
    waiting.pop_back();
    if (seen[node]) continue;
    seen[node] = true;
    waiting.insert(waiting.end(), graph.nodes[node].after.begin(), graph.nodes[node].after.end());
  }
  return std::all_of(wanted.begin(), wanted.end(), [&](std::size_t node) { return seen[node]; });
}

/// One run of a graph: every node in a thread of its own that waits for the nodes before it, because branches run
/// beside each other and may wait for each other.
class GraphRun {
 public:
  GraphRun(const Graph& graph, int ordinal) : graph_(graph), ordinal_(ordinal), done_(graph.nodes.size()) {}

  cudaError_t run() {
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < graph_.nodes.size(); ++k) threads.emplace_back([this, k] { run_node(k); });
    for (auto& thread : threads) thread.join();
    return error_;
  }
  /// Nodes one after the other need no threads.
  cudaError_t run_chain() {
    for (const auto& node : graph_.nodes)
      if (const auto error = node.work ? node.work() : cudaSuccess; error != cudaSuccess) return error;
    return cudaSuccess;
  }
  [[nodiscard]] bool is_chain() const {
    for (std::size_t k = 1; k < graph_.nodes.size(); ++k)
      if (graph_.nodes[k].after != std::vector<std::size_t>{k - 1}) return false;
    return true;
  }

 private:
  void run_node(std::size_t k) {
    set_current_device(ordinal_);
    const Node& node = graph_.nodes[k];
    std::unique_lock lock(mutex_);
    ended_.wait(lock,
                [&] { return std::all_of(node.after.begin(), node.after.end(), [&](auto n) { return done_[n]; }); });
    const bool go = node.work && error_ == cudaSuccess;
    lock.unlock();
    const cudaError_t error = go ? node.work() : cudaSuccess;
    lock.lock();
    if (error != cudaSuccess) error_ = error;
    done_[k] = true;
    ended_.notify_all();
  }
  const Graph& graph_;
  int ordinal_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<bool> done_;
  cudaError_t error_ = cudaSuccess;
};

cudaError_t run_graph(const Graph& graph, int ordinal) {
  GraphRun run(graph, ordinal);
  return run.is_chain() ? run.run_chain() : run.run();
}

}  // namespace

cudaError_t add_node(Stream& stream, Work work) {
  if (stream.capture->invalid) return cudaErrorStreamCaptureInvalidated;
  stream.capture->graph.nodes.push_back({std::move(work), stream.tail});
  stream.tail = {stream.capture->graph.nodes.size() - 1};
  return cudaSuccess;
}

cudaError_t join_capture(Stream& stream, const Event& event) {
  if (!event.capture) {
    if (!event.marker) return cudaSuccess;
    stream.capture->invalid = true;  // waits for what is not part of the graph
    return cudaErrorStreamCaptureIsolation;
  }
  if (stream.is_default) return cudaErrorStreamCaptureImplicit;
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->invalid = true;
    return cudaErrorStreamCaptureMerge;
  }
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.tail.clear();
    event.capture->streams.push_back(&stream);
  }
  for (const auto node : event.nodes)
    if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end()) stream.tail.push_back(node);
  return cudaSuccess;
}

/// A blocking stream of this device is being captured: using the default stream would order it with the capture.
bool global_capture_under_way(const Stream& stream) {
  return std::any_of(streams().live.begin(), streams().live.end(), [&](const Stream* other) {
    return other->device == stream.device && other->blocking && other->capture;
  });
}

cudaError_t begin_capture(Stream& stream, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(streams().mutex);
  if (stream.is_default) return cudaErrorStreamCaptureUnsupported;
  if (stream.capture) return cudaErrorIllegalState;
  stream.capture = std::make_shared<Capture>();
  static unsigned long long captures = 0;
  stream.capture->number = captures++;
  stream.capture->origin = &stream;
  stream.capture->mode = mode;
  stream.capture->thread = std::this_thread::get_id();
  stream.capture->streams.push_back(&stream);
  stream.tail.clear();
  return cudaSuccess;
}

cudaError_t end_capture(Stream& stream, Graph** graph) {
  const std::lock_guard lock(streams().mutex);
  *graph = nullptr;
  const CapturePtr capture = stream.capture;
  if (!capture) return cudaErrorIllegalState;
  if (capture->origin != &stream) return cudaErrorStreamCaptureUnmatched;
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  bool joined = true;
  const auto tail = stream.tail;
  for (Stream* member : capture->streams) {
    joined = joined && are_before(capture->graph, tail, member->tail);
    member->capture = nullptr;
    member->tail.clear();
  }
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  *graph = new Graph(capture->graph);
  return cudaSuccess;
}

cudaError_t launch(GraphExec& exec, Stream& stream) {
  const int ordinal = stream.device->ordinal;
  std::vector<MarkerPtr> after;
  if (exec.last) after.push_back(exec.last);  // one run of a graph at a time
  return enqueue(
      stream, [graph = exec.graph, ordinal] { return run_graph(*graph, ordinal); }, &exec.last, after);
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) { return std::exchange(thread_mode, mode); }

cudaError_t refuse_while_capturing(const Stream* stream) {
  const std::lock_guard lock(streams().mutex);
  if (stream) {
    if (!stream->capture) return cudaSuccess;
    stream->capture->invalid = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  for (const Stream* other : streams().live) {
    if (!other->capture || other->capture->mode == cudaStreamCaptureModeRelaxed) continue;
    const bool mine = other->capture->thread == std::this_thread::get_id();
    const bool global =
        other->capture->mode == cudaStreamCaptureModeGlobal && thread_mode == cudaStreamCaptureModeGlobal;
    if (!mine && !global) continue;
    other->capture->invalid = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  return cudaSuccess;
}

}  // namespace attune::emulator
