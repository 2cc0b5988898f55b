#include "src/bench_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "runtime/vendor_log.h"
#include "src/manifest.h"
#include "src/validate_data.h"
#include "src/watchdog.h"
#include "tuner/imports/nccl_log.h"
#include "tuner/statistics.h"

namespace attune::driver {

namespace {
constexpr double pair_confidence = 0.99;
constexpr std::size_t enough_pairs = 8;  // below, no interval of this confidence exists
constexpr int attempts_per_pair = 4;     // refused samples are taken again this many times at most
constexpr std::uint64_t seed = 1;

/// How many elements are wrong, once it is known that some are: every rank's input is made again and reduced in fp64,
/// which exact data survives.
Index count_wrong(const Problem& problem, const void* out, int call) {
  std::vector<std::vector<std::byte>> inputs(static_cast<std::size_t>(problem.ranks));
  for (std::size_t r = 0; r < inputs.size(); ++r) {
    inputs[r].resize(static_cast<std::size_t>(problem.bytes()));
    TestData(problem, DataKind::exact, static_cast<int>(r), seed).fill_input(inputs[r].data(), call);
  }
  Index wrong = 0;
  for (Index i = 0; i < problem.count; ++i) {
    Reduction reduction(problem);
    for (const auto& input : inputs) reduction.add(element_at(input.data(), i, problem.dtype));
    wrong += reduction.finish(0) != element_at(out, i, problem.dtype);
  }
  return std::max<Index>(wrong, 1);
}
}  // namespace

double algorithm_bandwidth(Bytes bytes, double time_us) {
  return time_us > 0 ? static_cast<double>(bytes) / 1e3 / time_us : 0;
}
double bus_bandwidth(Bytes bytes, double time_us, int ranks) {
  return algorithm_bandwidth(bytes, time_us) * 2 * (ranks - 1) / ranks;
}

void BenchRunner::Calls::enqueue(Communicator& comm, const Problem& problem, const Plan& plan, const Operands& operands,
                                 void* stream) {
  if (!by_table) return Executor::enqueue(comm, problem, plan, operands, stream);
  comm.allreduce(
      {operands.in, operands.out, problem.count, problem.dtype, problem.op, operands.epilogue, nullptr, stream});
}

void BenchRunner::call(const Problem& problem, const Plan& plan, const Operands& operands) {
  const Watched watched;
  if (!team_.on_gpus()) return calls_.run(team_.comm(), problem, plan, operands);
  team_.gpu().settle();
  team_.gpu().run(calls_, problem, plan, operands);
}

double BenchRunner::over_ranks(double mine) {
  const auto all = team_.meeting().exchange(mine);
  switch (request_.flags.average) {
    case 0:
      return all.front();
    case 2:
      return *std::min_element(all.begin(), all.end());
    case 3:
      return *std::max_element(all.begin(), all.end());
    default:
      return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  }
}

/// Calls one behind the other in a stream, or in a graph that is launched again and again; the clock stops when the
/// stream is empty, as nccl-tests' does.
double BenchRunner::back_to_back_on_gpu(const Problem& problem, const Plan& plan) {
  const auto& flags = request_.flags;
  GpuCalls& gpu = team_.gpu();
  const Operands operands = team_.operands(problem, plan, 0);
  const bool graph = problem.launch_mode == LaunchMode::graph;
  const int calls = graph ? flags.iters * flags.aggregated : flags.aggregated;
  const int launches = graph ? flags.graph : flags.iters;
  gpu.prepare_and_settle(calls_, problem, plan, operands, calls);
  for (int i = 0; i < flags.warm_up; ++i) gpu.enqueue(calls_, problem, plan, operands, calls);
  gpu.wait();
  team_.meeting().barrier();
  const std::int64_t start = now_ns();
  for (int i = 0; i < launches; ++i) {
    gpu.enqueue(calls_, problem, plan, operands, calls);
    if (flags.blocking == 0) continue;
    gpu.wait();
    if (flags.blocking == 1) team_.meeting().barrier();
  }
  const auto queued = static_cast<double>(now_ns() - start);
  gpu.wait();
  const auto spent = flags.cpu_time == 1 ? queued : static_cast<double>(now_ns() - start);
  return over_ranks(spent / 1e3 / launches / calls);
}

double BenchRunner::back_to_back(const Problem& problem, const Plan& plan) {
  const auto& flags = request_.flags;
  const Operands operands = team_.operands(problem, plan, 0);
  calls_.by_table = request_.by_table;
  if (team_.on_gpus()) return back_to_back_on_gpu(problem, plan);
  for (int i = 0; i < flags.warm_up; ++i) call(problem, plan, operands);
  team_.meeting().barrier();
  const std::int64_t start = now_ns();
  for (int i = 0; i < flags.iters; ++i) {
    for (int k = 0; k < flags.aggregated; ++k) call(problem, plan, operands);
    if (flags.blocking == 1) team_.meeting().barrier();
  }
  const auto spent = static_cast<double>(now_ns() - start);
  return over_ranks(spent / 1e3 / flags.iters / flags.aggregated);
}

double BenchRunner::isolated_call(Measurer& measurer, const Problem& problem, const Plan& plan, bool by_table,
                                  bool& good) {
  calls_.by_table = by_table;
  const auto block = measurer.block(problem, plan, 0, 1);
  if (block.status != tuner::CellStatus::ok)
    throw Error(block.status == tuner::CellStatus::timed_out ? Status::timeout : Status::internal, block.reason);
  good = good && !block.accepted_us.empty();
  return block.accepted_us.empty() ? block.refused_us.front() : block.accepted_us.front();
}

/// Pairs in random order (the same on all ranks); a pair with a refused sample counts only if there are too few others.
void BenchRunner::isolated(const Problem& problem, BenchHalf& half) {
  const Plan vendor{.variant = request_.vendor};
  std::mt19937 random(12345);
  std::vector<double> ours, theirs, all_ours, all_theirs;
  const int pairs = request_.flags.iters;
  const bool paired = request_.against_vendor;
  Measurer measurer(team_, calls_, {tuner::Mode::latency, request_.cache, 1});
  for (int i = -request_.flags.warm_up; i < pairs * attempts_per_pair; ++i) {
    if (static_cast<int>(ours.size()) == pairs) break;
    bool good = true;
    double mine = 0, vendors = 0;
    const bool vendor_first = paired && random() % 2 == 0;
    if (vendor_first) vendors = isolated_call(measurer, problem, vendor, false, good);
    mine = isolated_call(measurer, problem, half.plan, request_.by_table, good);
    if (paired && !vendor_first) vendors = isolated_call(measurer, problem, vendor, false, good);
    if (i < 0) continue;
    if (good) ours.push_back(mine), theirs.push_back(vendors);
    all_ours.push_back(mine), all_theirs.push_back(vendors);
  }
  if (ours.size() < std::min(enough_pairs, static_cast<std::size_t>(pairs))) {
    ours = all_ours;
    theirs = all_theirs;
  }
  half.time_us = tuner::median(ours);
  if (!paired) return;
  const auto shift = tuner::hodges_lehmann(tuner::log_ratios(theirs, ours), pair_confidence);
  half.ratio = BenchRatio{.median = std::exp(shift.shift), .vendor_us = tuner::median(theirs)};
  if (shift.interval) {
    half.ratio->low = std::exp(shift.interval->low);
    half.ratio->high = std::exp(shift.interval->high);
  }
}

/// Calls with data of which every bit of the result is known, apart from the timed ones.
void BenchRunner::check(const Problem& problem, BenchHalf& half) {
  TestData data(problem, DataKind::exact, team_.rank(), seed);
  const Operands operands = team_.operands(problem, half.plan, 0);
  calls_.by_table = request_.by_table;
  struct Verdict {
    Index wrong = 0;
    std::array<char, 200> first{};
  } mine;
  HostImage in(team_.comm(), operands.in, problem.bytes(), 0);
  HostImage out(team_.comm(), operands.out, problem.bytes(), 0);
  for (int i = 0; i < request_.flags.check; ++i) {
    if (problem.placement == Placement::out_of_place) {
      std::memset(out.data(), 0xFF, static_cast<std::size_t>(problem.bytes()));
      out.upload();
    }
    data.fill_input(in.data(), i);
    in.upload();
    team_.meeting().barrier();
    call(problem, half.plan, operands);
    out.download();
    const auto fault = data.check_exact(out.data(), i);
    if (!fault) continue;
    mine.wrong += count_wrong(problem, out.data(), i);
    if (mine.first.front() == '\0') to_string(*fault, team_.rank()).copy(mine.first.data(), mine.first.size() - 1);
  }
  half.wrong = 0;
  for (const Verdict& verdict : team_.meeting().exchange(mine)) {
    half.wrong += verdict.wrong;
    if (half.first_wrong.empty()) half.first_wrong = verdict.first.data();
  }
}

/// Where the table said so; empty for a plan by hand or a built-in one.
std::string BenchRunner::choice_of(const Problem& problem) const {
  if (!request_.by_table) return {};
  const Answer answer = team_.comm().find(problem);
  if (answer.built_in()) return {};
  return fmt::format(" ({}: {}, the rule from {} bytes)", team_.comm().table_path(), to_string(answer.table->key),
                     answer.rule->min_bytes);
}

/// What is loaded at a first call must not wait for a stream that stands at a start line. Nor is it timed: the vendor's
/// library may tell what it runs.
std::string BenchRunner::first_call(const Problem& problem, const Plan& plan) {
  std::optional<cuda::VendorLog> log;
  if (plan.variant.starts_with("vendor") && team_.rank() == 0) log.emplace();
  call(problem, plan, team_.operands(problem, plan, 0));
  return log ? tuner::ran_by_nccl(log->text()) : std::string();
}

/// What this plan's calls are timed on.
void BenchRunner::fill_input(const Problem& problem, const Plan& plan) {
  HostImage in(team_.comm(), team_.operands(problem, plan, 0).in, problem.bytes(), 0);
  TestData(problem, DataKind::exact, team_.rank(), seed).fill_input(in.data(), 0);
  in.upload();
}

BenchHalf BenchRunner::half(const Problem& problem) {
  BenchHalf half;
  half.plan = request_.plan;
  half.answered = "by hand";
  if (request_.by_table) {
    const Answer answer = team_.comm().find(problem);
    half.plan = team_.comm().plan_for(problem);
    half.answered = explain(answer, key_of(problem, request_.numerics));
  }
  if (const std::string reason = calls_.why_not(team_.comm(), problem, half.plan); !reason.empty())
    throw Error(Status::unsupported, "bench: " + half.plan.variant + choice_of(problem) + " cannot run this: " + reason,
                "choose another variant or size");
  if (problem.count > 0) {
    fill_input(problem, half.plan);
    const Plan vendor{.variant = request_.vendor};  // with buffers of its own, if it has windows
    const bool apart = team_.operands(problem, vendor, 0).in != team_.operands(problem, half.plan, 0).in;
    if (request_.against_vendor && apart) fill_input(problem, vendor);
    calls_.by_table = request_.by_table;
    if (team_.on_gpus()) half.ran = first_call(problem, half.plan);
  }
  if (request_.isolated())
    isolated(problem, half);
  else
    half.time_us = back_to_back(problem, half.plan);
  if (team_.on_gpus() && is_emulated(hardware_of(DeviceKind::cuda))) {
    half.time_us = -1;
    half.ratio.reset();
  }
  if (request_.flags.check > 0) check(problem, half);
  return half;
}

BenchRow BenchRunner::row(DType dtype, Op op, Bytes bytes) {
  BenchRow row{.dtype = dtype, .op = op, .bytes = bytes};
  Problem problem;
  problem.dtype = dtype;
  problem.op = op;
  problem.count = bytes / size_of(dtype);
  problem.ranks = team_.size();
  problem.memory = request_.memory;
  if (request_.flags.graph > 0) problem.launch_mode = LaunchMode::graph;
  if (const std::string reason = team_.no_room(problem, request_.plan); !reason.empty())
    throw Error(Status::device, "bench: " + reason, "use a smaller -e");
  for (const Placement placement : all_of<Placement>()) {
    problem.placement = placement;
    row.half[static_cast<std::size_t>(placement)] = half(problem);
  }
  return row;
}

}  // namespace attune::driver
