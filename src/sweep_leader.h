#pragma once
/// Rank 0 of a sweep on one team: what to measure next, for how long, and what to say about it.
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/journal.h"
#include "src/live_runner.h"
#include "src/summary.h"
#include "src/sweep_cases.h"
#include "tuner/decision.h"
#include "tuner/session.h"

namespace attune::driver {

struct LeaderHooks {
  std::function<void(const tuner::Record&)> record;          ///< To the journal.
  std::function<void(const CellName&)> running;              ///< Before a cell runs.
  std::function<void(const std::string& job)> finished;      ///< A job is complete and need not be repeated.
  std::function<void(const std::string&)> line;              ///< One line per case.
  std::function<void(double, const std::string&)> progress;  ///< Share of this team's work that is done.
};

struct LeaderOptions {
  std::string launch{};              ///< Names this start of the program.
  double budget_s = 0;               ///< For this team; 0 = none.
  std::set<CellName> skip{};         ///< Cells that hung, crashed or were wrong in an earlier launch.
  std::set<std::string> finished{};  ///< Jobs of earlier launches.
};

/// "allreduce f32 sum 1 MiB, 2 ranks, out_of_place registered"
[[nodiscard]] std::string describe(const Problem& problem);
/// One case for people: what this launch's samples choose, how it stands to the vendor in the rounds that both were in,
/// and what went wrong. `cells` are those of one problem; without a decision, too little was measured.
[[nodiscard]] std::string case_line(std::span<const CellSummary> cells, const tuner::Decision* decision);
/// The same on an emulated device: how many cells were right, no times.
[[nodiscard]] std::string emulated_case_line(std::span<const CellSummary> cells);

class SweepLeader {
 public:
  SweepLeader(SweepWorker& worker, const SweepConfig& config, LeaderOptions options, LeaderHooks hooks);

  /// Measures all cases and lets the other ranks go. On an error of its own the others throw it too.
  void run();

 private:
  struct Job {
    std::string name;
    std::vector<Problem> problems;
    double weight = 1;  ///< Its share of the budget.
  };
  [[nodiscard]] std::vector<Job> jobs() const;
  void run_jobs();
  /// Tables teach each other: one session for all jobs that its clock counts alike.
  [[nodiscard]] tuner::Session& session(bool counts_setup, double budget_s);
  void tell_failure(Status status, std::string_view what);
  /// True when nothing was left out for want of time.
  [[nodiscard]] bool run_job(const Job& job, tuner::Session& session);
  void tell(const std::vector<tuner::Record>& records) const;
  [[nodiscard]] std::vector<Plan> runnable(const Problem& problem) const;
  void record_unsupported(const Problem& problem) const;
  [[nodiscard]] std::string why_not(const Problem& problem, const Plan& plan) const;

  SweepWorker& worker_;
  const SweepConfig& config_;
  LeaderOptions options_;
  LeaderHooks hooks_;
  LiveRunner runner_;
  int cores_;
  bool emulated_;
  double done_ = 0;   ///< Weight of finished jobs,
  double total_ = 1;  ///< and of all.
  double job_weight_ = 0;
  double job_start_s_ = 0;
  double job_budget_s_ = 1;
  std::unique_ptr<tuner::Session> session_;
  bool counts_setup_ = true;
  std::vector<tuner::Record> job_records_;
  mutable std::map<std::string, std::string> vendor_reasons_;  ///< Of one job: why its vendor's choices cannot run.
};

}  // namespace attune::driver
