/// Streams, events, capture, graphs.
#include <cuda_runtime_api.h>

#include <chrono>
#include <set>

#include "capture.h"
#include "device.h"
#include "stream.h"

using namespace attune::emulator;

namespace {

/// Handles of one kind that are alive.
template <class T>
class Handles {
 public:
  T* add(T* object) {
    const std::lock_guard lock(mutex_);
    live_.insert(object);
    return object;
  }
  /// Null when it is none of ours.
  template <class H>
  T* get(H handle) {
    const std::lock_guard lock(mutex_);
    auto* object = reinterpret_cast<T*>(handle);
    return live_.count(object) != 0 ? object : nullptr;
  }
  bool drop(T* object) {
    const std::lock_guard lock(mutex_);
    if (live_.erase(object) == 0) return false;
    delete object;
    return true;
  }
  static Handles& all() {
    static auto* const handles = new Handles;
    return *handles;
  }

 private:
  std::mutex mutex_;
  std::set<T*> live_;
};
Event* event_of(cudaEvent_t handle) { return Handles<Event>::all().get(handle); }

cudaError_t make_event(cudaEvent_t* handle, unsigned flags) {
  auto* event = new Event;
  event->timed = (flags & cudaEventDisableTiming) == 0;
  event->device = &current_device();
  *handle = reinterpret_cast<cudaEvent_t>(Handles<Event>::all().add(event));
  return cudaSuccess;
}

/// f(stream) for a stream that exists.
template <class F>
cudaError_t on_stream(const char* name, cudaStream_t handle, F f) {
  return call(name, [&] {
    Stream* stream = stream_of(handle);
    return stream ? f(*stream) : cudaErrorInvalidResourceHandle;
  });
}
template <class F>
cudaError_t on_event(const char* name, cudaEvent_t handle, F f) {
  return call(name, [&] {
    Event* event = event_of(handle);
    return event ? f(*event) : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t handle) {
  const Graph* graph = Handles<Graph>::all().get(handle);
  if (!graph) return cudaErrorInvalidValue;
  *exec = reinterpret_cast<cudaGraphExec_t>(
      Handles<GraphExec>::all().add(new GraphExec{std::make_shared<const Graph>(*graph), nullptr}));
  return cudaSuccess;
}

/// With the lock held.
cudaStreamCaptureStatus status_of(const Stream& s) {
  if (!s.capture) return cudaStreamCaptureStatusNone;
  return s.capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  return call(__func__, [&] {
    *handle = reinterpret_cast<cudaStream_t>(make_stream((flags & cudaStreamNonBlocking) == 0));
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCreate(cudaStream_t* handle) {
  return call(__func__, [&] {
    *handle = reinterpret_cast<cudaStream_t>(make_stream(true));
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned flags, int /*priority*/) {
  return call(__func__, [&] {
    *handle = reinterpret_cast<cudaStream_t>(make_stream((flags & cudaStreamNonBlocking) == 0));
    return cudaSuccess;
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return on_stream(__func__, handle,
                   [](Stream& s) { return end_stream(&s) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return on_stream(__func__, handle, [](Stream& s) {
    if (const auto error = refuse_while_capturing(&s); error != cudaSuccess) return error;
    wait(last_of(s));
    return cudaSuccess;
  });
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return on_stream(__func__, handle, [](Stream& s) {
    if (const auto error = refuse_while_capturing(&s); error != cudaSuccess) return error;
    return is_done(last_of(s)) ? cudaSuccess : cudaErrorNotReady;
  });
}
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* ordinal) {
  return on_stream(__func__, handle, [&](Stream& s) {
    *ordinal = s.device->ordinal;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned /*flags*/) {
  return on_stream(__func__, handle, [&](Stream& s) {
    const Event* e = event_of(event);
    return e ? wait_event(s, *e) : cudaErrorInvalidResourceHandle;
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return on_stream(__func__, handle, [&](Stream& s) {
    return enqueue(s, [=] {
      function(data);
      return cudaSuccess;
    });
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* handle) {
  return call(__func__, [&] { return make_event(handle, 0); });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  return call(__func__, [&] { return make_event(handle, flags); });
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return on_event(__func__, handle, [](Event& e) {
    Handles<Event>::all().drop(&e);
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  return on_stream(__func__, stream, [&](Stream& s) {
    Event* e = event_of(handle);
    return e ? record(*e, s) : cudaErrorInvalidResourceHandle;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return on_event(__func__, handle, [](Event& e) {
    if (const auto error = refuse_while_capturing(); error != cudaSuccess) return error;
    if (e.capture) return cudaErrorCapturedEvent;
    return is_done(e.marker) ? cudaSuccess : cudaErrorNotReady;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return on_event(__func__, handle, [](Event& e) {
    if (const auto error = refuse_while_capturing(); error != cudaSuccess) return error;
    if (e.capture) return cudaErrorCapturedEvent;
    wait(e.marker);
    return cudaSuccess;
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return on_event(__func__, from, [&](Event& a) {
    const Event* b = event_of(to);
    if (!b || !a.timed || !b->timed || !a.marker || !b->marker) return cudaErrorInvalidResourceHandle;
    if (!is_done(a.marker) || !is_done(b->marker)) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(b->marker->at - a.marker->at).count();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return on_stream(__func__, handle, [&](Stream& s) { return begin_capture(s, mode); });
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return on_stream(__func__, handle, [&](Stream& s) {
    Graph* made = nullptr;
    const auto error = end_capture(s, &made);
    *graph = made ? reinterpret_cast<cudaGraph_t>(Handles<Graph>::all().add(made)) : nullptr;
    return error;
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return on_stream(__func__, handle, [&](Stream& s) {
    const std::lock_guard lock(streams().mutex);
    *status = status_of(s);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     std::size_t* count) {
  return on_stream(__func__, handle, [&](Stream& s) {
    if (graph || nodes || edges || count) return cudaErrorNotSupported;  // status and identity only
    const std::lock_guard lock(streams().mutex);
    *status = status_of(s);
    if (id && s.capture) *id = s.capture->number;
    return cudaSuccess;
  });
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call(__func__, [&] {
    *mode = exchange_capture_mode(*mode);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long /*flags*/) {
  return call(__func__, [&] { return instantiate(exec, graph); });
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long /*flags*/) {
  return call(__func__, [&] { return instantiate(exec, graph); });
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return on_stream(__func__, stream, [&](Stream& /*s*/) {
    return Handles<GraphExec>::all().get(exec) ? cudaSuccess : cudaErrorInvalidValue;
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream) {
  return on_stream(__func__, stream, [&](Stream& s) {
    auto* exec = Handles<GraphExec>::all().get(handle);
    return exec ? launch(*exec, s) : cudaErrorInvalidValue;
  });
}
cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  return call(__func__, [&] {
    const Graph* graph = Handles<Graph>::all().get(handle);
    if (!graph || nodes) return cudaErrorNotSupported;  // only the count
    *count = graph->nodes.size();
    return cudaSuccess;
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return call(__func__, [&] {
    auto* exec = Handles<GraphExec>::all().get(handle);
    return exec && Handles<GraphExec>::all().drop(exec) ? cudaSuccess : cudaErrorInvalidValue;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return call(__func__, [&] {
    auto* graph = Handles<Graph>::all().get(handle);
    return graph && Handles<Graph>::all().drop(graph) ? cudaSuccess : cudaErrorInvalidValue;
  });
}
}
