#include "src/measure_meeting.h"

#include <fmt/format.h>
#include <sched.h>

#include <ctime>

#include "core/error.h"
#include "device/host_block.h"

namespace attune::driver {

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Meeting::Meeting(Bootstrap& bootstrap, const MeetingOptions& options)
    : segment_(bootstrap, sizeof(Line)), options_(options), rank_(bootstrap.rank()), size_(bootstrap.size()) {
  new (segment_.base(rank_)) Line{};
  bootstrap.barrier();
}

template <class Done>
void Meeting::wait(const Done& done, std::uint32_t expected) const {
  const int spins = options_.yield ? 0 : 20'000;
  for (int spin = 0; spin < spins; ++spin) {
    if (done()) return;
    host::detail::pause();
  }
  const std::int64_t begin = now_ns();
  while (!done()) {
    ::sched_yield();
    if (options_.timeout_s > 0 && static_cast<double>(now_ns() - begin) > options_.timeout_s * 1e9) give_up(expected);
  }
}

void Meeting::give_up(std::uint32_t expected) const {
  std::string missing;
  for (int r = 0; r < size_; ++r)
    if (static_cast<std::int32_t>(line(r).arrived.load() - expected) < 0)
      missing += (missing.empty() ? "" : ", ") + std::to_string(r);
  throw Error(Status::timeout, fmt::format("rank {} waited {:.0f} s for rank {}", rank_, options_.timeout_s, missing),
              "that rank hangs or is gone");
}

void Meeting::barrier() {
  const std::uint32_t mine = ++count_;
  line(rank_).arrived.store(mine, std::memory_order_release);
  for (int r = 0; r < size_; ++r)
    wait([&] { return static_cast<std::int32_t>(line(r).arrived.load(std::memory_order_acquire) - mine) >= 0; }, mine);
}

std::int64_t Meeting::start_together(std::int64_t slack_ns) {
  const std::int64_t before = line(0).start.load(std::memory_order_relaxed);
  barrier();
  if (rank_ == 0) line(0).start.store(now_ns() + slack_ns, std::memory_order_release);
  wait([&] { return line(0).start.load(std::memory_order_acquire) != before; }, count_);
  const std::int64_t start = line(0).start.load(std::memory_order_acquire);
  while (now_ns() < start)
    if (options_.yield) ::sched_yield();
  return start;
}

}  // namespace attune::driver
