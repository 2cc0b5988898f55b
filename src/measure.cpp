#include "src/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/floats.h"
#include "src/watchdog.h"

namespace attune::driver {

namespace {
constexpr std::int64_t least_slack_ns = 1000;
constexpr std::int64_t most_slack_ns = 1'000'000;  ///< Of ranks that wait for a core.
constexpr std::int64_t interruption_ns = 10'000;   ///< A rank that comes later was interrupted: no slack helps that.
constexpr Index pattern_elements = 1024;
/// A call of this length is expected to be interrupted once by housekeeping, which hardly changes its time.
constexpr double switch_every_us = 10'000;

std::int64_t involuntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

void set_reason(CallOutcome& outcome, tuner::CellStatus status, const std::string& text) {
  outcome.status = status;
  text.copy(outcome.reason.data(), outcome.reason.size() - 1);
}
}  // namespace

namespace {
/// Runs a step of a call; exceptions become an outcome.
template <class F>
CallOutcome outcome_of(F&& step) {
  CallOutcome outcome;
  try {
    step();
  } catch (const Error& error) {
    const auto status = error.status() == Status::timeout       ? tuner::CellStatus::timed_out
                        : error.status() == Status::unsupported ? tuner::CellStatus::unsupported
                                                                : tuner::CellStatus::failed;
    set_reason(outcome, status, error.what());
  } catch (const std::exception& error) {
    set_reason(outcome, tuner::CellStatus::failed, error.what());
  }
  return outcome;
}
}  // namespace

CallOutcome run_call(Executor& executor, SweepTeam& team, const Problem& problem, const Plan& plan,
                     const Operands& operands) {
  return outcome_of([&] {
    const Watched watched;
    if (team.on_gpus())
      team.gpu().run(executor, problem, plan, operands);
    else
      executor.run(team.comm(), problem, plan, operands);
  });
}

CallOutcome worst_of(const std::vector<CallOutcome>& outcomes) {
  const CallOutcome* worst = nullptr;
  const auto order = [](const CallOutcome& outcome) {
    if (outcome.status == tuner::CellStatus::ok) return 0;
    if (outcome.status == tuner::CellStatus::wrong) return 1;
    const bool consequence = std::string_view(outcome.reason.data()).find("which has failed") != std::string_view::npos;
    return consequence ? 2 : outcome.status == tuner::CellStatus::timed_out ? 3 : 4;
  };
  for (const auto& outcome : outcomes)
    if (order(outcome) > (worst == nullptr ? 0 : order(*worst))) worst = &outcome;
  if (worst == nullptr) return {};
  CallOutcome agreed = *worst;
  const auto refused = [](const CallOutcome& outcome) { return outcome.status == tuner::CellStatus::unsupported; };
  if (refused(agreed) && !std::ranges::all_of(outcomes, refused)) agreed.status = tuner::CellStatus::failed;
  return agreed;
}

struct Measurer::Lap {
  std::int64_t start = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t switches = 0;
  cuda::ClockSample clock;
  CallOutcome outcome;
};

Measurer::Measurer(SweepTeam& team, Executor& executor, const MeasureOptions& options)
    : team_(team), executor_(executor), options_(options) {}

/// Small numbers that depend on rank and position: sums stay finite and no cache line keeps its old value.
void Measurer::make_pattern(const Problem& problem, Bytes bytes) {
  pattern_dtype_ = problem.dtype;
  pattern_.resize(static_cast<std::size_t>(bytes));
  with_dtype(problem.dtype, [&]<class T>() {
    for (Index i = 0; i < bytes / static_cast<Bytes>(sizeof(T)); ++i) {
      T value;
      if constexpr (NarrowFloat<T>)
        value = from_float<T>(static_cast<float>((i + team_.rank()) % 7) * 0.25F);
      else
        value = static_cast<T>((i + team_.rank()) % 7);
      std::memcpy(&pattern_[static_cast<std::size_t>(i) * sizeof(T)], &value, sizeof value);
    }
  });
}

void Measurer::rewrite(const Problem& problem, const Operands& operands) {
  const Bytes step = pattern_elements * size_of(problem.dtype);
  const bool other = pattern_.empty() || pattern_dtype_ != problem.dtype;
  const Bytes shift = call_ % pattern_elements * size_of(problem.dtype);
  if (team_.on_gpus()) {
    const Bytes needed = problem.bytes() + step;
    if (other || device_pattern_bytes_ < needed) {
      make_pattern(problem, needed);
      device_pattern_ = plain_memory(DeviceKind::cuda, needed);
      device_pattern_bytes_ = needed;
      team_.comm().copy(device_pattern_.get(), pattern_.data(), needed);
    }
    return team_.comm().copy(operands.in, device_pattern_.get() + shift, problem.bytes());
  }
  if (other) make_pattern(problem, 2 * step);
  const std::byte* from = pattern_.data() + shift;
  auto* to = static_cast<std::byte*>(operands.in);
  for (Bytes done = 0; done < problem.bytes(); done += step)
    std::memcpy(to + done, from, static_cast<std::size_t>(std::min(step, problem.bytes() - done)));
}

Measurer::Lap Measurer::timed_on_host(const Problem& problem, const Plan& plan, const Operands& operands, int calls) {
  Lap lap;
  const std::int64_t switches = involuntary_switches();
  lap.start = team_.meeting().start_together(slack_ns_);
  lap.begin = now_ns();
  for (int k = 0; k < calls && lap.outcome.status == tuner::CellStatus::ok; ++k)
    lap.outcome = run_call(executor_, team_, problem, plan, operands);
  lap.end = now_ns();
  lap.switches = involuntary_switches() - switches;
  return lap;
}

namespace {
Problem eager(Problem problem) {
  problem.launch_mode = LaunchMode::eager;
  return problem;
}
}  // namespace

Measurer::Lap Measurer::timed_on_gpu(const Problem& problem, const Plan& plan, const Operands& operands, int calls) {
  GpuCalls& gpu = team_.gpu();
  cuda::LaunchTimer& timer = gpu.timer();
  Lap lap;
  gpu.settle();
  lap.outcome = outcome_of([&] {
    // What is loaded or connected at a first call must not wait for a stream that stands at the start line.
    if (warmed_.insert({problem, plan}).second) executor_.run(team_.comm(), eager(problem), plan, operands);
    gpu.prepare(executor_, problem, plan, operands, calls);
  });
  gpu.settle();  // also on a rank that has failed: its peers do not know
  if (lap.outcome.status == tuner::CellStatus::ok)
    lap.outcome = outcome_of([&] {
      timer.arm();
      timer.begin();
      gpu.enqueue(executor_, problem, plan, operands, calls);
      timer.end();
    });
  lap.start = lap.begin = lap.end = team_.meeting().start_together(slack_ns_);
  timer.go();
  if (lap.outcome.status != tuner::CellStatus::ok) return lap;
  lap.outcome = outcome_of([&] {
    gpu.wait();
    lap.end += static_cast<std::int64_t>(timer.elapsed_us() * 1e3);
  });
  lap.clock = gpu.clock();
  return lap;
}

Measurer::Lap Measurer::timed_call(const Problem& problem, const Plan& plan) {
  ++call_;
  Operands operands = team_.operands(problem, plan, options_.cache == tuner::CacheState::rotating ? call_ : 0);
  operands.epilogue.kind = problem.epilogue;
  if (problem.epilogue != EpilogueKind::none) operands.epilogue.operand = operands.in;
  operands.epilogue.cols = std::max<Index>(1, problem.cols);
  if (options_.cache != tuner::CacheState::hot) rewrite(problem, operands);
  const int calls = options_.mode == tuner::Mode::throughput ? options_.calls_per_sample : 1;
  const bool waits_on_host = plan.variant == "naive";  // it could not end behind a start line
  return team_.on_gpus() && !waits_on_host ? timed_on_gpu(problem, plan, operands, calls)
                                           : timed_on_host(problem, plan, operands, calls);
}

bool Measurer::acceptable(const Plan& plan, double time_us, std::int64_t late_ns, std::int64_t switches) const {
  if (team_.oversubscribed(plan.blocks)) return true;  // being interrupted is the rule there; the cell is labelled
  const double late_us = static_cast<double>(late_ns) / 1000;
  return late_us <= std::max(0.2, 0.02 * time_us) && static_cast<double>(switches) <= time_us / switch_every_us;
}

std::int64_t next_slack_ns(std::int64_t slack_ns, std::int64_t late_ns, bool oversubscribed) {
  if (!oversubscribed && late_ns > interruption_ns) return slack_ns;
  const std::int64_t next = late_ns > 200 ? slack_ns + slack_ns / 2 : slack_ns - slack_ns / 64;
  return std::clamp(next, least_slack_ns, oversubscribed ? most_slack_ns : interruption_ns);
}

namespace {
/// Of two GPUs: what holds either down, and the lower clock that is known.
cuda::ClockSample slower_of(const cuda::ClockSample& a, const cuda::ClockSample& b) {
  const bool only_a = b.sm_mhz == 0 || (a.sm_mhz != 0 && a.sm_mhz <= b.sm_mhz);
  return {only_a ? a.sm_mhz : b.sm_mhz, a.held_down | b.held_down};
}
}  // namespace

std::optional<tuner::Clock> clock_of(std::span<const cuda::ClockSample> calls) {
  std::vector<int> mhz;
  tuner::Clock clock;
  std::uint32_t held_down = 0;
  for (const cuda::ClockSample& call : calls) {
    if (call.sm_mhz > 0) mhz.push_back(call.sm_mhz);
    clock.throttled += call.throttled() ? 1 : 0;
    held_down |= call.held_down;
  }
  if (mhz.empty() && held_down == 0) return std::nullopt;
  clock.reasons = cuda::words_of(held_down);
  if (mhz.empty()) return clock;
  std::ranges::sort(mhz);
  clock.sm_mhz = mhz[mhz.size() / 2];
  clock.least_mhz = mhz.front();
  return clock;
}

BlockOfSamples Measurer::block(const Problem& problem, const Plan& plan, int warm_up, int calls) {
  BlockOfSamples block;
  const int per_sample = options_.mode == tuner::Mode::throughput ? options_.calls_per_sample : 1;
  for (int call = 0; call < warm_up + calls; ++call) {
    const auto laps = team_.meeting().exchange(timed_call(problem, plan));
    std::vector<CallOutcome> outcomes;
    std::int64_t end = 0, begin = 0, switches = 0;
    cuda::ClockSample clock;
    for (const Lap& lap : laps) {
      end = std::max(end, lap.end);
      begin = std::max(begin, lap.begin);
      switches = std::max(switches, lap.switches);
      clock = slower_of(clock, lap.clock);
      outcomes.push_back(lap.outcome);
    }
    if (const CallOutcome worst = worst_of(outcomes); worst.status != tuner::CellStatus::ok) {
      block.status = worst.status;
      block.reason = worst.reason.data();
      return block;
    }
    const std::int64_t start = laps.front().start;
    slack_ns_ = next_slack_ns(slack_ns_, begin - start, team_.oversubscribed(1));
    if (call < warm_up) continue;
    const double total_us = static_cast<double>(end - start) / 1000;  // the last rank's, host or GPU
    const bool good = !clock.throttled() && acceptable(plan, total_us, begin - start, switches);
    if (team_.on_gpus()) block.clocks.push_back(clock);
    (good ? block.accepted_us : block.refused_us).push_back(total_us / per_sample);
  }
  return block;
}

}  // namespace attune::driver
