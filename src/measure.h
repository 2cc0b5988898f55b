#pragma once
/// Timing one cell: blocks of calls from a common start, bad samples refused.
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "src/sweep_team.h"
#include "tuner/record.h"

namespace attune::driver {

struct MeasureOptions {
  tuner::Mode mode = tuner::Mode::latency;
  tuner::CacheState cache = tuner::CacheState::rewritten;
  int calls_per_sample = 20;  ///< Mode::throughput: calls back to back behind one time.
};

/// One block of timed calls. Equal on all ranks.
struct BlockOfSamples {
  std::vector<double> accepted_us;
  std::vector<double> refused_us;         ///< Late start, involuntary context switches, or a GPU held below its clock.
  std::vector<cuda::ClockSample> clocks;  ///< cuda: of every timed call, the slowest GPU's.
  tuner::CellStatus status = tuner::CellStatus::ok;
  std::string reason;  ///< Of a status that is not ok: which rank, and what happened.
};

/// What is recorded of the clocks of these calls; nothing where none is known.
[[nodiscard]] std::optional<tuner::Clock> clock_of(std::span<const cuda::ClockSample> calls);

/// How a call ended on this rank: what an exception inside it becomes.
struct CallOutcome {
  tuner::CellStatus status = tuner::CellStatus::ok;
  std::array<char, 240> reason{};
};
/// Runs one call; exceptions become an outcome, because the other ranks must hear of it before anyone gives up.
[[nodiscard]] CallOutcome run_call(Executor& executor, SweepTeam& team, const Problem& problem, const Plan& plan,
                                   const Operands& operands);
/// What all ranks' outcomes come to: the cause before its consequences (a rank that failed lets the others time out).
[[nodiscard]] CallOutcome worst_of(const std::vector<CallOutcome>& outcomes);

/// The time between "all are here" and the next start, after a call that the slowest rank began `late_ns` late. Grows
/// at once, shrinks slowly. An interrupted rank is no reason to grow: every few of them in a hundred would let all wait
/// the longest time for each call, and a call after a millisecond of waiting finds its lines gone from the caches.
[[nodiscard]] std::int64_t next_slack_ns(std::int64_t slack_ns, std::int64_t late_ns, bool oversubscribed);

class Measurer {
 public:
  Measurer(SweepTeam& team, Executor& executor, const MeasureOptions& options);

  /// `warm_up` calls that are not recorded, then `calls` timed ones. Collective over the team. A sample is the time
  /// from the common start to the last rank's end (divided by calls_per_sample in throughput mode). Throws
  /// Error(timeout) when a rank does not come back at all; other failures are a status.
  [[nodiscard]] BlockOfSamples block(const Problem& problem, const Plan& plan, int warm_up, int calls);

 private:
  struct Lap;
  [[nodiscard]] Lap timed_call(const Problem& problem, const Plan& plan);
  [[nodiscard]] Lap timed_on_host(const Problem& problem, const Plan& plan, const Operands& operands, int calls);
  /// Between events of the GPU, from a start line that all ranks leave together.
  [[nodiscard]] Lap timed_on_gpu(const Problem& problem, const Plan& plan, const Operands& operands, int calls);
  void make_pattern(const Problem& problem, Bytes bytes);
  void rewrite(const Problem& problem, const Operands& operands);
  [[nodiscard]] bool acceptable(const Plan& plan, double time_us, std::int64_t late_ns, std::int64_t switches) const;

  SweepTeam& team_;
  Executor& executor_;
  MeasureOptions options_;
  std::int64_t slack_ns_ = 3000;  ///< Between "all are here" and the start: follows what the slowest rank needs.
  int call_ = 0;
  std::set<std::pair<Problem, Plan>> warmed_;  ///< cuda: cells that have run once.
  std::vector<std::byte> pattern_;
  DType pattern_dtype_ = DType::f32;
  std::shared_ptr<std::byte> device_pattern_;  ///< cuda: the same on the device, long enough for a message.
  Bytes device_pattern_bytes_ = 0;
};

}  // namespace attune::driver
