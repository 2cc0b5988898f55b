#include <fmt/format.h>
#include <sched.h>

#include <chrono>

#include "core/error.h"
#include "device/host_launch.h"

namespace attune::host {

void wait_slow(const Launch& launch, const std::atomic<Epoch>& flag, Epoch expected, int block, int peer) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (unsigned turn = 1;; ++turn) {
    const Epoch seen = flag.load(std::memory_order_acquire);
    if (reached(seen, expected)) return;
    ::sched_yield();
    if (turn % 64 != 0) continue;
    if (launch.policy.progress != nullptr && block == 0) launch.policy.progress(launch.policy.progress_context);
    if (launch.control[static_cast<std::size_t>(peer)]->failed.load(std::memory_order_acquire) != 0)
      throw Error(Status::internal, fmt::format("rank {} waited for rank {}, which has failed", launch.rank, peer),
                  "see the error of that rank");
    const double waited = std::chrono::duration<double>(Clock::now() - start).count();
    if (launch.policy.timeout_s > 0 && waited > launch.policy.timeout_s)
      throw Error(
          Status::timeout,
          fmt::format("timeout after {:.0f} s in {}: block {} of rank {} waits for rank {}, expected epoch {}, saw {}",
                      waited, launch.variant, block, launch.rank, peer, expected, seen),
          "is that rank alive and in the same call? ATTUNE_TIMEOUT_S sets the limit");
  }
}

void refuse_mismatch(const Launch& launch, int peer) {
  throw Error(Status::usage,
              fmt::format("rank {} and rank {} made different calls at launch {} (count, dtype, op, plan or epilogue; "
                          "here: {}, {} elements)",
                          launch.rank, peer, launch.number, launch.variant, launch.count),
              "every rank must make the same calls in the same order with the same table");
}

}  // namespace attune::host
