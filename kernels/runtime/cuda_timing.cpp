#include "runtime/cuda_timing.h"

#include <atomic>
#include <utility>

#include "runtime/cuda_launch.h"
#include "runtime/cuda_memory.h"
#include "runtime/cuda_order.h"

namespace attune::cuda {

namespace {
Place here() {
  Place place;
  check_cuda(cudaGetDevice(&place.device), "cudaGetDevice");
  return place;
}
}  // namespace

std::shared_ptr<std::byte> local_memory(Bytes bytes) {
  auto memory = std::make_shared<DeviceMemory>(bytes, here());
  return {memory, memory->get()};
}

std::shared_ptr<std::byte> pinned_memory(Bytes bytes) {
  auto memory = std::make_shared<PinnedMemory>(bytes, here());
  return {memory, memory->get()};
}

struct LaunchTimer::State {
  explicit State(double timeout_s)
      : place(here()),
        stream(place),
        first(place, cudaEventDefault),
        last(place, cudaEventDefault),
        word(sizeof(std::uint32_t), place),
        timeout_ns(static_cast<std::uint64_t>(timeout_s * 1e9)) {}
  Place place;
  OwnStream stream;
  Event first;
  Event last;
  PinnedMemory word;
  std::uint64_t timeout_ns;
  std::uint32_t target = 0;
};

LaunchTimer::LaunchTimer(double timeout_s) : state_(std::make_unique<State>(timeout_s)) {}
LaunchTimer::~LaunchTimer() { go(); }  // nothing may be left waiting

void* LaunchTimer::stream() const { return state_->stream.get(); }

void LaunchTimer::arm() {
  StartLine line;
  line.word = reinterpret_cast<const std::uint32_t*>(state_->word.on_device());
  line.target = ++state_->target;
  line.timeout_ns = state_->timeout_ns;
  void* arguments[] = {&line};
  check_cuda(cudaLaunchKernel(start_line_kernel().function, dim3(1), dim3(1), arguments, 0, state_->stream.get()),
             "cudaLaunchKernel", state_->place);
}

void LaunchTimer::begin() {
  check_cuda(cudaEventRecord(state_->first.get(), state_->stream.get()), "cudaEventRecord", state_->place);
}

void LaunchTimer::end() {
  check_cuda(cudaEventRecord(state_->last.get(), state_->stream.get()), "cudaEventRecord", state_->place);
}

void LaunchTimer::go() {
  auto& word = *reinterpret_cast<std::uint32_t*>(state_->word.get());
  std::atomic_ref(word).store(state_->target, std::memory_order_release);
}

double LaunchTimer::elapsed_us() {
  check_cuda(cudaEventSynchronize(state_->last.get()), "cudaEventSynchronize", state_->place);
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, state_->first.get(), state_->last.get()), "cudaEventElapsedTime", state_->place);
  return static_cast<double>(ms) * 1e3;
}

struct CapturedCalls::State {
  Place place;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ~State() {
    if (executable != nullptr) (void)cudaGraphExecDestroy(executable);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
  }
};

CapturedCalls::CapturedCalls(void* stream, const std::function<void()>& calls) : state_(std::make_unique<State>()) {
  state_->place = here();
  state_->stream = static_cast<cudaStream_t>(stream);
  check_cuda(cudaStreamBeginCapture(state_->stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture",
             state_->place);
  try {
    calls();
  } catch (...) {
    (void)cudaStreamEndCapture(state_->stream, &state_->graph);  // the stream must be usable again
    (void)cudaGetLastError();
    throw;
  }
  check_cuda(cudaStreamEndCapture(state_->stream, &state_->graph), "cudaStreamEndCapture", state_->place);
}
CapturedCalls::~CapturedCalls() = default;

void CapturedCalls::finish() {
  check_cuda(cudaGraphInstantiate(&state_->executable, state_->graph, 0), "cudaGraphInstantiate", state_->place);
}

void CapturedCalls::launch() {
  check_cuda(cudaGraphLaunch(state_->executable, state_->stream), "cudaGraphLaunch", state_->place);
}

}  // namespace attune::cuda
