#include "kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "../shim/host_kernels.h"
#include "faults.h"

namespace attune::emulator {
namespace {

constexpr unsigned most_threads = 1024, threads_per_multiprocessor = 2048, blocks_per_mp = 32;

struct HostKernel {
  void (*function)();
  AttuneEmulatorBind bind;
};
struct Kernels {
  std::mutex mutex;
  std::map<const void*, std::string> stubs;
  std::map<std::string, HostKernel, std::less<>> hosts;
};
Kernels& kernels() {
  static auto* const all = new Kernels;
  return *all;
}

bool load_libraries() {
  for (const auto& path : settings().kernels)
    if (!dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) std::fprintf(stderr, "emulated: %s\n", dlerror());
  return true;
}

/// Threads that run blocks; there are always as many as there are blocks under way.
class BlockThreads {
 public:
  void run(std::function<void()> job) {
    std::unique_lock lock(mutex_);
    jobs_.push_back(std::move(job));
    if (idle_ < jobs_.size()) std::thread([this] { work(); }).detach();
    wake_.notify_one();
  }

 private:
  [[noreturn]] void work() {
    prepare_thread_for_faults();
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      --idle_;
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  std::size_t idle_ = 0;
};

/// What the multiprocessors of a device hold at a time. First come, first served, as on a GPU: a grid that does not
/// fit waits, and with it everything behind it.
struct Residents {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t next_ticket = 0, serving = 0;
  unsigned threads = 0, blocks = 0;

  void enter(unsigned block_threads) {
    const auto mps = static_cast<unsigned>(settings().multiprocessors);
    std::unique_lock lock(mutex);
    const auto ticket = next_ticket++;
    changed.wait(lock, [&] {
      return serving == ticket && threads + block_threads <= mps * threads_per_multiprocessor &&
             blocks + 1 <= mps * blocks_per_mp;
    });
    ++serving;
    threads += block_threads;
    blocks += 1;
    changed.notify_all();
  }
  void leave(unsigned block_threads) {
    const std::lock_guard lock(mutex);
    threads -= block_threads;
    blocks -= 1;
    changed.notify_all();
  }
};

BlockThreads& block_threads() {
  static auto* const all = new BlockThreads;
  return *all;
}
Residents& residents(const Device& device) {
  static auto* const all = new std::vector<Residents>(16);
  return (*all)[static_cast<std::size_t>(device.ordinal)];
}
unsigned whole_warps(unsigned threads) { return (threads + 31) / 32 * 32; }

bool possible(dim3 grid, dim3 block, std::size_t shared) {
  const auto threads = std::uint64_t{block.x} * block.y * block.z;
  const bool any = grid.x > 0 && grid.y > 0 && grid.z > 0 && threads > 0;
  return any && threads <= most_threads && grid.y <= 65535 && grid.z <= 65535 && shared <= (std::size_t{48} << 10U);
}

}  // namespace

void register_stub(const void* stub, const char* name) {
  const std::lock_guard lock(kernels().mutex);
  kernels().stubs[stub] = name;
}
std::string kernel_name(const void* stub) {
  const std::lock_guard lock(kernels().mutex);
  const auto found = kernels().stubs.find(stub);
  return found == kernels().stubs.end() ? std::string() : found->second;
}

int blocks_per_multiprocessor(unsigned threads) {
  if (threads == 0 || threads > most_threads) return 0;
  return static_cast<int>(std::min(blocks_per_mp, threads_per_multiprocessor / whole_warps(threads)));
}

cudaError_t prepare(const void* stub, dim3 grid, dim3 block, void** arguments, std::size_t shared, Grid* prepared) {
  static const bool loaded = load_libraries();
  static_cast<void>(loaded);
  const auto name = kernel_name(stub);
  if (name.empty()) return cudaErrorInvalidDeviceFunction;
  if (!possible(grid, block, shared)) return cudaErrorInvalidConfiguration;
  HostKernel kernel{};
  {
    const std::lock_guard lock(kernels().mutex);
    const auto found = kernels().hosts.find(name);
    if (found == kernels().hosts.end()) {
      std::fprintf(stderr, "emulated: ATTUNE_EMULATOR_KERNELS has no host build of kernel %s\n", name.c_str());
      return cudaErrorInvalidDeviceFunction;
    }
    kernel = found->second;
  }
  prepared->shape = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}};
  prepared->name = name;
  prepared->call = kernel.bind(kernel.function, arguments);
  prepared->device = &current_device();
  return cudaSuccess;
}

cudaError_t run(const Grid& grid) {
  cudaError_t planted = cudaSuccess;
  if (counts_and_fails("kernel", &planted)) return planted;
  watch_faults();
  const unsigned threads = whole_warps(grid.shape.threads());
  std::mutex mutex;
  std::condition_variable ended;
  unsigned left = grid.shape.blocks();
  for (unsigned index = 0; index < grid.shape.blocks(); ++index) {
    residents(*grid.device).enter(threads);
    block_threads().run([&, index] {
      BlockRun(grid, index).run();
      residents(*grid.device).leave(threads);
      const std::lock_guard lock(mutex);
      if (--left == 0) ended.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return left == 0; });
  return static_cast<cudaError_t>(grid.device->sticky.load());
}

}  // namespace attune::emulator

extern "C" bool attune_emulator_add_kernel(void (*kernel)(), AttuneEmulatorBind bind) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(kernel), &info) == 0 || !info.dli_sname) {
    std::fprintf(stderr, "emulated: a kernel without a name in its library's dynamic symbols\n");
    return false;
  }
  auto& all = attune::emulator::kernels();
  const std::lock_guard lock(all.mutex);
  all.hosts[info.dli_sname] = {kernel, bind};
  return true;
}
