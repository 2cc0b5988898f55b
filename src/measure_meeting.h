#pragma once
/// Where the ranks of one team meet between calls: a barrier, an exchange of small values and a common start, through
/// memory of its own. It owes nothing to the collective that is measured, so that all candidates (the vendor's too)
/// start alike, and every wait ends: a rank that does not come is an error, not a hang.
#include <array>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/bootstrap.h"
#include "runtime/shared_segment.h"

namespace attune::driver {

/// CLOCK_MONOTONIC in nanoseconds: one clock for all ranks of a node.
[[nodiscard]] std::int64_t now_ns();

/// The same clock in seconds.
[[nodiscard]] inline double now_s() { return static_cast<double>(now_ns()) * 1e-9; }

/// How long ranks wait for each other between calls; 0 = for ever. Longer than any wait inside a call of this limit, so
/// that a call that times out is told by the call.
[[nodiscard]] constexpr double patience_of(double timeout_s) { return timeout_s > 0 ? 2 * timeout_s + 10 : 0; }

struct MeetingOptions {
  bool yield = false;     ///< More ranks than cores: give the core away instead of spinning.
  double timeout_s = 60;  ///< Of every wait; 0 = none.
};

class Meeting {
 public:
  /// Collective. `bootstrap` must outlive it.
  Meeting(Bootstrap& bootstrap, const MeetingOptions& options);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Throws Error(timeout) that names the ranks that did not come, as everything here does.
  void barrier();

  /// Every rank's value, in rank order.
  template <class T>
  [[nodiscard]] std::vector<T> exchange(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= slot_bytes);
    turn_ ^= 1;
    std::memcpy(line(rank_).slot[turn_].data(), &mine, sizeof(T));
    barrier();  // two slots: a rank may be one exchange ahead, never two
    std::vector<T> all(static_cast<std::size_t>(size_));
    for (int r = 0; r < size_; ++r)
      std::memcpy(static_cast<void*>(&all[static_cast<std::size_t>(r)]), line(r).slot[turn_].data(), sizeof(T));
    return all;
  }
  /// Rank 0's value on every rank: how decisions are made once.
  template <class T>
  [[nodiscard]] T from_root(const T& mine) {
    return exchange(mine).front();
  }

  /// All ranks come, rank 0 names an instant `slack_ns` from now, and all spin until then. That instant.
  std::int64_t start_together(std::int64_t slack_ns);

 private:
  static constexpr std::size_t slot_bytes = 448;
  struct alignas(64) Line {
    std::atomic<std::uint32_t> arrived;
    alignas(64) std::atomic<std::int64_t> start;
    alignas(64) std::array<std::array<std::byte, slot_bytes>, 2> slot;
  };
  [[nodiscard]] Line& line(int rank) const { return *reinterpret_cast<Line*>(segment_.base(rank)); }
  [[noreturn]] void give_up(std::uint32_t expected) const;
  template <class Done>
  void wait(const Done& done, std::uint32_t expected) const;

  host::SharedSegment segment_;
  MeetingOptions options_;
  int rank_;
  int size_;
  std::uint32_t count_ = 0;
  unsigned turn_ = 0;
};

}  // namespace attune::driver
