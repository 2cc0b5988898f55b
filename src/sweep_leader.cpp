#include "src/sweep_leader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "src/manifest.h"
#include "src/measure_meeting.h"
#include "src/units.h"
#include "tuner/confirm.h"
#include "tuner/prospects.h"
#include "tuner/search.h"
#include "variants/registry.h"

namespace attune::driver {

namespace {
using tuner::CellStatus;

std::string plan_words(const Plan& plan) {
  std::string words = plan.variant;
  if (plan.blocks != 1) words += fmt::format(" x{}", plan.blocks);
  if (plan.chunk_bytes != 0) words += " chunk " + format_bytes(plan.chunk_bytes);
  return words;
}

tuner::Record unsupported(const Problem& problem, const Plan& plan, const std::string& launch,
                          const std::string& reason, const SweepConfig& config) {
  tuner::Record record;
  record.status = CellStatus::unsupported;
  record.problem = problem;
  record.plan = plan;
  record.launch = launch;
  record.converged = false;
  record.mode = config.mode;
  record.cache = config.cache;
  record.reason = reason;
  return record;
}

/// Validation and rewriting cost grows with the size, and so does one call.
double weight_of(const Problem& problem, std::size_t plans) {
  return static_cast<double>(plans) * (0.2 + static_cast<double>(problem.bytes()) / (8 << 20));
}

/// A line each for what went wrong.
std::string bad_cells(std::span<const CellSummary> cells) {
  std::string text;
  for (const auto& cell : cells)
    if (cell.status != CellStatus::ok && cell.status != CellStatus::unsupported)
      text += fmt::format("\n  {}: {}: {}", name_of(cell.status), plan_words(cell.plan), cell.reason);
  return text;
}

/// No less than what validating and warming up a cell takes on any machine.
double most_setup_s(const Problem& problem) { return 0.05 + 0.5e-6 * static_cast<double>(problem.bytes()); }
}  // namespace

std::string describe(const Problem& problem) {
  const std::string shape =
      problem.rows > 0 ? fmt::format(" {}x{}", problem.rows, problem.cols) : " " + readable_bytes(problem.bytes());
  return fmt::format("{} {} {}{}, {} rank{}, {} {}{}{}", name_of(problem.collective), name_of(problem.dtype),
                     name_of(problem.op), shape, problem.ranks, problem.ranks == 1 ? "" : "s",
                     name_of(problem.placement), name_of(problem.memory),
                     problem.launch_mode == LaunchMode::graph ? " graph" : "",
                     problem.epilogue == EpilogueKind::none ? "" : fmt::format(" {}", name_of(problem.epilogue)));
}

std::string case_line(std::span<const CellSummary> cells, const tuner::Decision* decision) {
  int bad = 0, unsupported = 0;
  const CellSummary* chosen = nullptr;
  std::string vendor_ran;
  for (const auto& cell : cells) {
    bad += cell.status != CellStatus::ok && cell.status != CellStatus::unsupported;
    unsupported += cell.status == CellStatus::unsupported;
    if (cell.plan.variant == "vendor" && !cell.ran.empty()) vendor_ran = " by " + cell.ran;
    if (decision != nullptr && cell.plan == decision->chosen && cell.timed()) chosen = &cell;
  }
  std::string text = describe(cells.front().problem) + ": ";
  if (chosen != nullptr) {
    text += fmt::format("{} {:.2f} us", plan_words(chosen->plan), chosen->median_us);
    if (decision->vendor_us && chosen->plan.variant != "vendor")
      text += fmt::format(", vendor {:.2f} us{} ({:.2f}x)", *decision->vendor_us, vendor_ran,
                          1 / decision->to_vendor.ratio);
    if (chosen->oversubscribed) text += " [oversubscribed]";
    if (!chosen->converged) text += " [not converged]";
  } else {
    const bool timed = std::ranges::any_of(cells, &CellSummary::timed);
    text += timed ? "too little was measured to decide" : "nothing could be timed";
  }
  text += fmt::format(", {} cells", cells.size());
  if (unsupported > 0) text += fmt::format(", {} unsupported", unsupported);
  if (bad > 0) text += fmt::format(", {} BAD", bad);
  return text + bad_cells(cells);
}

std::string emulated_case_line(std::span<const CellSummary> cells) {
  const auto with = [&](CellStatus status) { return std::ranges::count(cells, status, &CellSummary::status); };
  return fmt::format("{}: emulated, time n/a, {} of {} cells right, {} unsupported{}", describe(cells.front().problem),
                     with(CellStatus::ok), cells.size(), with(CellStatus::unsupported), bad_cells(cells));
}

SweepLeader::SweepLeader(SweepWorker& worker, const SweepConfig& config, LeaderOptions options, LeaderHooks hooks)
    : worker_(worker),
      config_(config),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      runner_(worker, config.seed + static_cast<std::uint64_t>(worker.team().size()),
              [this](const Problem& problem, const Plan& plan) {
                hooks_.running({problem, plan});
                const double share = std::min(1.0, (now_s() - job_start_s_) / job_budget_s_);
                hooks_.progress((done_ + share * job_weight_) / total_, describe(problem) + " " + plan.variant);
              }),
      cores_(static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))),
      emulated_(config.device == DeviceKind::cuda && is_emulated(hardware_of(config.device))) {}

std::string SweepLeader::why_not(const Problem& problem, const Plan& plan) const {
  const auto ask = [&] { return worker_.executor().why_not(worker_.team().comm(), problem, plan); };
  std::string reason;
  if (plan.variant.starts_with("vendor:")) {  // slow to ask the library for, and the same at all sizes
    const auto [known, fresh] = vendor_reasons_.try_emplace(plan.variant);
    if (fresh) known->second = ask();
    reason = known->second;
  } else {
    reason = ask();
  }
  return reason.empty() ? worker_.team().no_room(problem, plan) : reason;
}

std::vector<Plan> SweepLeader::runnable(const Problem& problem) const {
  auto plans = plans_of(config_, problem, cores_);
  std::erase_if(plans, [&](const Plan& plan) {
    return options_.skip.contains({problem, plan}) || !why_not(problem, plan).empty();
  });
  return plans;
}

void SweepLeader::record_unsupported(const Problem& problem) const {
  for (const Plan& plan : plans_of(config_, problem, cores_))
    if (const std::string reason = why_not(problem, plan); !reason.empty() && !options_.skip.contains({problem, plan}))
      hooks_.record(unsupported(problem, plan, options_.launch, reason, config_));
}

/// Exhaustive: one job per problem, in random order, so that slow drift of the machine does not look like a trend.
/// Racing: one job per table, because sizes learn from their neighbours.
std::vector<SweepLeader::Job> SweepLeader::jobs() const {
  std::vector<Job> jobs;
  for (const auto& group : groups_of(config_, worker_.team().size())) {
    if (config_.search == Search::racing) jobs.push_back({"", group.problems});
    if (config_.search == Search::exhaustive)
      for (const auto& problem : group.problems) jobs.push_back({"", {problem}});
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].name = fmt::format("{} ranks, job {}", worker_.team().size(), i);
    jobs[i].weight = 0;
    for (const auto& problem : jobs[i].problems)
      jobs[i].weight += weight_of(problem, plans_of(config_, problem, cores_).size());
    const auto earlier = std::span(jobs).first(i);
    const auto teaches = [&](const Job& job) { return tuner::related(job.problems.front(), jobs[i].problems.front()); };
    if (config_.search == Search::racing && std::ranges::none_of(earlier, teaches))
      jobs[i].weight *= tuner::first_table_weight;
  }
  if (config_.search == Search::exhaustive) {
    std::mt19937_64 random(config_.seed);
    std::shuffle(jobs.begin(), jobs.end(), random);
  }
  std::erase_if(jobs, [&](const Job& job) { return options_.finished.contains(job.name); });
  return jobs;
}

void SweepLeader::run() {
  try {
    run_jobs();
  } catch (const Error& error) {
    tell_failure(error.status(), error.what());
    throw;
  } catch (const std::exception& error) {
    tell_failure(Status::internal, error.what());
    throw;
  }
  worker_.give(Order{});
}

/// The others wait for an order: they end with the same error.
void SweepLeader::tell_failure(Status status, std::string_view what) {
  if (runner_.in_order()) return;  // it is theirs already
  Order order;
  order.kind = OrderKind::fail;
  order.status = status;
  what.copy(order.text.data(), order.text.size() - 1);
  worker_.give(order);
}

void SweepLeader::run_jobs() {
  const auto list = jobs();
  total_ = 0;
  for (const Job& job : list) total_ += job.weight;
  const double start_s = now_s();
  bool cut = false;
  const auto used_up = [&] { hooks_.line("the budget is used up; continue with --resume and a larger --budget"); };
  for (const Job& job : list) {
    const double left_s = options_.budget_s - (now_s() - start_s);
    if (options_.budget_s > 0 && left_s <= 0) return used_up();
    double cells_s = 0, setup_s = 0;
    for (const auto& problem : job.problems) {
      const auto plans = static_cast<double>(plans_of(config_, problem, cores_).size());
      cells_s += config_.cell_seconds * plans;
      setup_s += most_setup_s(problem) * plans;
    }
    const double share_s = left_s * job.weight / (total_ - done_);
    const bool short_of_time = options_.budget_s > 0 && share_s < cells_s + setup_s;
    const bool complete = run_job(job, session(short_of_time, short_of_time ? share_s : cells_s));
    done_ += job.weight;
    if (complete || !short_of_time)
      hooks_.finished(job.name);
    else
      cut = true;  // a resume with a larger budget goes on with it
  }
  if (cut) used_up();
}

tuner::Session& SweepLeader::session(bool counts_setup, double budget_s) {
  if (session_ == nullptr || counts_setup != counts_setup_)
    session_ = std::make_unique<tuner::Session>(
        runner_,
        tuner::SessionOptions{
            .launch = options_.launch, .precision = config_.precision, .mode = config_.mode, .cache = config_.cache},
        [this](const tuner::Record& record) {
          job_records_.push_back(record);
          hooks_.record(record);
        });
  counts_setup_ = counts_setup;
  runner_.count_setup(counts_setup);
  session_->start(budget_s);
  return *session_;
}

bool SweepLeader::run_job(const Job& job, tuner::Session& session) {
  job_weight_ = job.weight;
  job_budget_s_ = session.options().budget_s;
  job_start_s_ = now_s();
  job_records_.clear();
  vendor_reasons_.clear();
  tuner::Task task;
  for (const auto& problem : job.problems) {
    record_unsupported(problem);
    if (!runnable(problem).empty()) task.problems.push_back(problem);
  }
  task.plans = [this](const Problem& problem) { return runnable(problem); };
  tuner::SearchOptions options;
  const bool racing = config_.search == Search::racing;
  options.kind = racing ? tuner::SearchKind::racing : tuner::SearchKind::exhaustive;
  options.decision.numerics = config_.numerics;
  options.decision.filter = {config_.mode, config_.cache};
  const bool complete =
      task.problems.empty() || tuner::search(std::span(&task, 1), tuner::facts_of_variant, options, session);
  tell(job_records_);
  return complete;
}

void SweepLeader::tell(const std::vector<tuner::Record>& records) const {
  const auto cells = summarise(records, config_.precision);
  tuner::DecisionOptions options{.numerics = config_.numerics, .filter = {config_.mode, config_.cache}};
  auto decisions = tuner::decide_all(records, tuner::facts_of_variant, options);
  tuner::settle_by_neighbours(decisions);
  for (std::size_t first = 0; first < cells.size();) {
    std::size_t end = first;
    while (end < cells.size() && cells[end].problem == cells[first].problem) ++end;
    const auto these = std::span(cells).subspan(first, end - first);
    const auto found = std::ranges::find(decisions, these.front().problem, &tuner::Decision::problem);
    hooks_.line(emulated_ ? emulated_case_line(these) : case_line(these, found == decisions.end() ? nullptr : &*found));
    first = end;
  }
}

}  // namespace attune::driver
