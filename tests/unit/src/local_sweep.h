#pragma once
/// A sweep on a team of threads of this process, with an executor that may have planted faults.
#include <exception>
#include <thread>
#include <vector>

#include "src/sweep_leader.h"

namespace attune::driver::testing {

struct LocalSweep {
  std::vector<tuner::Record> records;
  std::vector<std::string> lines;
  std::set<std::string> finished;
  int replaced = 0;
};

/// Runs what `lead` says on rank 0, the others serve. `make_executor(rank)` per rank.
template <class MakeExecutor, class Lead>
void with_local_workers(int ranks, const TeamRequest& request, const MakeExecutor& make_executor, const Lead& lead) {
  auto meetings = make_local_bootstraps(ranks);
  auto next = std::make_shared<std::vector<std::vector<std::unique_ptr<Bootstrap>>>>();
  for (int spare = 0; spare < 6; ++spare) next->push_back(make_local_bootstraps(ranks));
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      const auto me = static_cast<std::size_t>(r);
      try {
        std::size_t made = 0;
        const auto make = [&](double timeout_s) {
          Options options{.table = "none", .timeout_s = timeout_s, .scratch_bytes = 1 << 20};
          return std::make_unique<Communicator>(std::move((*next)[made++][me]), options);
        };
        SweepTeam team(std::move(meetings[me]), make, request);
        auto executor = make_executor(r);
        SweepWorker worker(team, *executor, {}, 7);
        if (r == 0)
          lead(worker);
        else
          worker.serve();
      } catch (...) {
        errors[me] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

/// A whole sweep of one rank count.
template <class MakeExecutor>
LocalSweep sweep_locally(int ranks, const SweepConfig& config, const MakeExecutor& make_executor,
                         LeaderOptions options = {.launch = "test"}, double timeout_s = 20) {
  LocalSweep result;
  TeamRequest request;
  request.timeout_s = timeout_s;
  request.registered_bytes = largest_message(config, Memory::registered);
  request.staged_bytes = largest_message(config, Memory::staged);
  with_local_workers(ranks, request, make_executor, [&](SweepWorker& worker) {
    LeaderHooks hooks{.record = [&](const tuner::Record& record) { result.records.push_back(record); },
                      .running = [](const CellName&) {},
                      .finished = [&](const std::string& job) { result.finished.insert(job); },
                      .line = [&](const std::string& line) { result.lines.push_back(line); },
                      .progress = [](double, const std::string&) {}};
    SweepLeader leader(worker, config, std::move(options), std::move(hooks));
    leader.run();
    result.replaced = worker.team().replaced();
  });
  return result;
}

}  // namespace attune::driver::testing
