/// How a rank comes to store past the cache or through it: by the times of its own calls.
#include "runtime/store_trial.h"

#include <gtest/gtest.h>

#include <functional>

namespace attune::host {
namespace {

using std::chrono::nanoseconds;

/// A clock of which a call takes what `cost(call, past_cache)` says.
struct Machine {
  std::function<nanoseconds(std::uint32_t, bool)> cost;
  StoreTrial trial;
  StoreTrial::Time time{};
  std::uint32_t calls = 0;

  /// One call; how it was stored.
  bool call() {
    const auto now = [this] { return time; };
    const bool past = trial.begin(now);
    time += cost(calls++, past);
    trial.end(now);
    return past;
  }
  void calls_until(std::uint32_t end) {
    while (calls < end) call();
  }
};

constexpr std::uint32_t trial_end = StoreTrial::warm_up + 2 * StoreTrial::turns;

TEST(StoreTrial, TakesTheFasterWayWhicheverCameFirst) {
  for (const bool first : {true, false})
    for (const bool faster : {true, false}) {
      Machine machine{[&](auto, bool past) { return nanoseconds(past == faster ? 100 : 300); }, StoreTrial(first)};
      EXPECT_EQ(machine.call(), first) << "before a trial it is what it was made with";
      machine.calls_until(trial_end);
      for (int k = 0; k < 100; ++k) EXPECT_EQ(machine.call(), faster);
    }
}

TEST(StoreTrial, ChangesItsMindWhenTheMachineDoes) {
  bool faster = true;
  Machine machine{[&](auto, bool past) { return nanoseconds(past == faster ? 100 : 300); }, StoreTrial()};
  machine.calls_until(trial_end);
  EXPECT_TRUE(machine.call());
  faster = false;
  machine.calls_until(StoreTrial::period);
  EXPECT_TRUE(machine.call()) << "not before the next trial";
  machine.calls_until(StoreTrial::period + trial_end);
  EXPECT_FALSE(machine.call());
}

TEST(StoreTrial, NeitherDisturbedNorFirstCallsDecide) {
  const std::uint32_t begin = StoreTrial::warm_up;
  Machine disturbed{[&](std::uint32_t call, bool past) {  // all but one of the faster way's are interrupted
                      return past ? nanoseconds(call == begin + 2 ? 100 : 90000) : nanoseconds(200);
                    },
                    StoreTrial(false)};
  disturbed.calls_until(trial_end);
  EXPECT_TRUE(disturbed.call());
  Machine cheap_start{[&](std::uint32_t call, bool past) {  // lines left by the other way make the first one cheap
                        return past ? nanoseconds(100) : nanoseconds(call == begin + StoreTrial::turns ? 1 : 200);
                      },
                      StoreTrial(true)};
  cheap_start.calls_until(trial_end);
  EXPECT_TRUE(cheap_start.call());
}

/// Ranks try the same way at the same time, however differently their clocks run.
TEST(StoreTrial, TriesByTheNumberOfTheCallAlone) {
  Machine slow{[](auto, bool past) { return nanoseconds(past ? 7 : 9000); }, StoreTrial()};
  Machine fast{[](auto call, bool) { return nanoseconds(call % 3); }, StoreTrial()};
  for (std::uint32_t call = 0; call < 2 * StoreTrial::period; ++call) {
    const std::uint32_t at = call % StoreTrial::period;
    const bool a = slow.call(), b = fast.call();
    if (at >= StoreTrial::warm_up && at < trial_end) {
      EXPECT_EQ(a, b) << "call " << call;
      EXPECT_EQ(a, at < StoreTrial::warm_up + StoreTrial::turns);
    }
  }
}

}  // namespace
}  // namespace attune::host
