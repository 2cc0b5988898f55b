#pragma once
/// How a rank stores what its peers will read: past the cache, or through it. Which is faster by two to five times, and
/// which one, depends on what nobody tells: whether the cores share a cache, and whether the program reads its outputs
/// between calls (then their lines are shared, and every ordinary store has to take one back) or writes them (then they
/// are not). So it is tried: some calls this way, some that way, the fastest of each compared, and again now and then.
/// The bits of results do not depend on it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>

namespace attune::host {

/// For calls alike: one variant, one class of sizes. All ranks make the same calls, so they try the same at once.
class StoreTrial {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::uint32_t period = 512;  ///< Calls from one trial to the next.
  static constexpr std::uint32_t warm_up = 2;   ///< Calls before a trial: the first ones touch memory.
  /// Calls of each way. The first one finds the other way's lines; what else the program does may spoil most others.
  static constexpr std::uint32_t turns = 6;

  explicit StoreTrial(bool past_cache = true) : past_cache_(past_cache) {}

  /// Begins a call: shall it store past the cache? `now` is a function, called in a trial alone.
  template <class Now>
  [[nodiscard]] bool begin(const Now& now) {
    const std::uint32_t call = calls_++ % period;
    trying_ = call >= warm_up && call < warm_up + 2 * turns;
    if (!trying_) return past_cache_;
    turn_ = call - warm_up;
    start_ = now();
    return turn_ / turns == 0;
  }

  /// Ends the call that began last.
  template <class Now>
  void end(const Now& now) {
    if (!trying_) return;
    auto& least = least_[turn_ / turns];
    if (turn_ % turns != 0) least = std::min<std::int64_t>(least, (now() - start_).count());
    if (turn_ + 1 < 2 * turns) return;
    past_cache_ = least_[0] <= least_[1];
    least_ = {longest, longest};
  }

 private:
  static constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
  std::array<std::int64_t, 2> least_{longest, longest};  ///< Of this trial: past the cache, through it.
  Time start_;
  std::uint32_t calls_ = 0;
  std::uint32_t turn_ = 0;
  bool trying_ = false;
  bool past_cache_;
};

}  // namespace attune::host
