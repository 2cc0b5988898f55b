#include <fmt/format.h>
#include <sched.h>

#include <chrono>

#include "core/error.h"
#include "device/host_launch.h"

namespace attune::host {
namespace {

/// Has this peer entered another call under the number of mine? Then it will never come.
bool in_another_call(const Launch& launch, const Control& peer) {
  const CurrentLaunch& theirs = peer.current[launch.number & 1U];
  return theirs.number.load(std::memory_order_acquire) == std::uint64_t{launch.number} + 1 &&
         theirs.digest.load(std::memory_order_relaxed) != launch.digest;
}

/// Yields until arrived(seen).
template <class Word, class F>
void wait_patiently(const Launch& launch, const std::atomic<Word>& flag, std::uint64_t expected, int block, int peer,
                    F arrived) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const Control& other = *launch.control[static_cast<std::size_t>(peer)];
  for (unsigned turn = 1;; ++turn) {
    const Word seen = flag.load(std::memory_order_acquire);
    if (arrived(seen)) return;
    ::sched_yield();
    if (turn % 64 != 0) continue;
    if (launch.policy.progress != nullptr && block == 0) launch.policy.progress(launch.policy.progress_context);
    if (in_another_call(launch, other)) refuse_mismatch(launch, peer);
    if (other.failed.load(std::memory_order_acquire) == 1)
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

}  // namespace

void wait_slow(const Launch& launch, const std::atomic<Epoch>& flag, Epoch expected, int block, int peer) {
  wait_patiently(launch, flag, expected, block, peer, [&](Epoch seen) { return reached(seen, expected); });
}

void wait_for_mail(const Launch& launch, const std::atomic<std::uint64_t>& flag, int block, int peer) {
  wait_patiently(launch, flag, launch.mail_call, block, peer,
                 [&](std::uint64_t seen) { return seen == launch.mail_call; });
}

void refuse_mismatch(const Launch& launch, int peer) {
  throw Error(Status::usage,
              fmt::format("rank {} and rank {} made different calls at launch {} (count, dtype, op, plan or epilogue; "
                          "here: {}, {} elements)",
                          launch.rank, peer, launch.number, launch.variant, launch.count),
              "every rank must make the same calls in the same order with the same table");
}

}  // namespace attune::host
