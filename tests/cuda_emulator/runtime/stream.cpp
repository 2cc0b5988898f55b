#include "stream.h"

#include <algorithm>
#include <set>

#include "capture.h"
#include "memory.h"
#include "random.h"

namespace attune::emulator {

Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

namespace {

/// A stream's thread: what it may touch is up to each op.
void work_on(Stream* stream) {
  set_current_device(stream->device->ordinal);
  may_touch(all_devices);
  auto& all = streams();
  std::unique_lock lock(all.mutex);
  for (;;) {
    all.changed.wait(lock, [&] { return stream->ends || !stream->ops.empty(); });
    if (stream->ops.empty()) break;
    Stream::Op op = std::move(stream->ops.front());
    stream->ops.pop_front();
    all.changed.wait(lock,
                     [&] { return std::all_of(op.after.begin(), op.after.end(), [](auto& m) { return m->done; }); });
    lock.unlock();
    dawdle("stream", 300);
    if (op.work && stream->device->sticky == cudaSuccess)
      if (const auto error = op.work(); error != cudaSuccess) stream->device->fail(error);
    op.work = nullptr;
    lock.lock();
    op.marker->at = std::chrono::steady_clock::now();
    op.marker->done = true;
    all.changed.notify_all();
  }
  lock.unlock();
  delete stream;
}

Stream* start_stream(Device& device, bool blocking, bool is_default) {
  auto* stream = new Stream;
  stream->device = &device;
  stream->blocking = blocking;
  stream->is_default = is_default;
  streams().live.insert(stream);
  std::thread([stream] { work_on(stream); }).detach();
  return stream;
}

/// What the rules of the default stream add to an op's predecessors. With the lock held.
void follow_default_rules(const Stream& stream, std::vector<MarkerPtr>& after) {
  if (!stream.blocking) return;
  for (const Stream* other : streams().live) {
    if (other->device != stream.device || other == &stream || !other->last) continue;
    if (stream.is_default ? other->blocking : other->is_default) after.push_back(other->last);
  }
}

}  // namespace

Stream* stream_of(cudaStream_t handle) {
  auto& all = streams();
  const std::lock_guard lock(all.mutex);
  if (handle == nullptr || handle == cudaStreamLegacy) {
    auto& own = all.defaults[static_cast<std::size_t>(current_device().ordinal)];
    if (!own) own = start_stream(current_device(), true, true);
    return own;
  }
  if (handle == cudaStreamPerThread) {
    thread_local std::array<Stream*, 16> mine{};
    auto& own = mine[static_cast<std::size_t>(current_device().ordinal)];
    if (!own) own = start_stream(current_device(), true, false);
    return own;
  }
  auto* stream = reinterpret_cast<Stream*>(handle);
  return all.live.count(stream) != 0 ? stream : nullptr;
}

Stream* make_stream(bool blocking) {
  const std::lock_guard lock(streams().mutex);
  return start_stream(current_device(), blocking, false);
}

bool end_stream(Stream* stream) {
  const std::lock_guard lock(streams().mutex);
  if (stream->is_default || streams().live.erase(stream) == 0) return false;
  if (stream->capture) stream->capture->invalid = true;
  stream->ends = true;
  streams().changed.notify_all();
  return true;
}

cudaError_t enqueue(Stream& stream, Work work, MarkerPtr* marker, std::vector<MarkerPtr> after) {
  auto& all = streams();
  const std::lock_guard lock(all.mutex);
  if (stream.capture) return add_node(stream, std::move(work));
  if (stream.is_default && global_capture_under_way(stream)) return cudaErrorStreamCaptureImplicit;
  follow_default_rules(stream, after);
  stream.last = std::make_shared<Marker>();
  if (marker) *marker = stream.last;
  stream.ops.push_back({std::move(work), stream.last, std::move(after)});
  all.changed.notify_all();
  return cudaSuccess;
}

cudaError_t record(Event& event, Stream& stream) {
  {
    const std::lock_guard lock(streams().mutex);
    if (event.device != stream.device) return cudaErrorInvalidResourceHandle;
    if (stream.capture) {
      event.capture = stream.capture;
      event.nodes = stream.tail;
      event.marker = nullptr;
      return cudaSuccess;
    }
  }
  event.capture = nullptr;
  return enqueue(stream, nullptr, &event.marker);
}

cudaError_t wait_event(Stream& stream, const Event& event) {
  {
    const std::lock_guard lock(streams().mutex);
    if (event.capture || stream.capture) return join_capture(stream, event);
  }
  if (!event.marker) return cudaSuccess;
  return enqueue(stream, nullptr, nullptr, {event.marker});
}

void wait(const MarkerPtr& marker) {
  if (!marker) return;
  std::unique_lock lock(streams().mutex);
  streams().changed.wait(lock, [&] { return marker->done; });
}
bool is_done(const MarkerPtr& marker) {
  const std::lock_guard lock(streams().mutex);
  return !marker || marker->done;
}
MarkerPtr last_of(const Stream& stream) {
  const std::lock_guard lock(streams().mutex);
  return stream.last;
}

void wait_for_device(const Device& device) {
  std::vector<MarkerPtr> markers;
  {
    const std::lock_guard lock(streams().mutex);
    for (const Stream* stream : streams().live)
      if (stream->device == &device) markers.push_back(stream->last);
  }
  for (const auto& marker : markers) wait(marker);
}

}  // namespace attune::emulator
