#include "src/watchdog.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "core/error.h"
#include "src/mpi_session.h"

namespace attune::driver {

Watchdog::Watchdog(double limit_s) {
  if (limit_s <= 0) return;
  thread_ = std::thread([this, &seen = Watched::steps(), limit_s] { watch(seen, limit_s); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

/// Counts looks, not time: a job that was suspended as a whole goes on. Of several ranks that wait in one call the
/// lowest speaks: its end is the others', too.
void Watchdog::watch(const std::atomic<std::uint32_t>& seen, double limit_s) {
  const double limit = limit_s + 2.0 * launched_rank();
  std::uint32_t last = 0;
  int looks = 0;
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; })) {
    const std::uint32_t now = seen.load(std::memory_order_relaxed);
    looks = now % 2 == 1 && now == last ? looks + 1 : 0;
    last = now;
    if (looks < limit) continue;
    print_error(fmt::format("rank {} has been inside one call for {} s; another rank hangs or is gone", launched_rank(),
                            looks));
    std::_Exit(static_cast<int>(Status::timeout));  // the other thread waits inside MPI
  }
}

}  // namespace attune::driver
