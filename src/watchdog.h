#pragma once
/// Ends a job whose rank is inside a call for ever: attune's own waits have limits, those inside an MPI call have none.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace attune::driver {

/// For the length of a call. Two plain stores: it stands inside what is timed.
class Watched {
 public:
  Watched() { step(); }
  ~Watched() { step(); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// Of this thread; odd: it is inside a call.
  static std::atomic<std::uint32_t>& steps() {
    static thread_local std::atomic<std::uint32_t> count{0};
    return count;
  }

 private:
  static void step() {
    auto& seen = steps();
    seen.store(seen.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

/// Looks once a second at the calls of the thread that made it. A call that lasts longer than `limit_s` (0 = may last
/// for ever) ends this process, and with it the job, with exit code 4 and one line.
class Watchdog {
 public:
  explicit Watchdog(double limit_s);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(const std::atomic<std::uint32_t>& seen, double limit_s);

  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace attune::driver
