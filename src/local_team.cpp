#include "src/local_team.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <thread>

#include "core/traits.h"
#include "runtime/cuda_backend.h"
#include "src/watchdog.h"

namespace attune::driver {

namespace {
constexpr int most_communicators = 6;  ///< One, and those that replace lost ones.

/// Is this error no more than that a peer has failed, or did not come?
bool is_consequence(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& fault) {
    const std::string_view text = fault.what();
    return fault.status() == Status::timeout || text.find("which has failed") != std::string_view::npos ||
           text.find("of this local team has left it") != std::string_view::npos;
  } catch (...) {
    return false;
  }
}

/// The cause among what ranks threw.
void rethrow_cause(std::vector<std::exception_ptr> errors) {
  std::erase(errors, nullptr);
  if (errors.empty()) return;
  const auto cause = std::ranges::find_if_not(errors, is_consequence);
  std::rethrow_exception(cause != errors.end() ? *cause : errors.front());
}
}  // namespace

void with_local_team(int ranks, const Options& options, const TeamRequest& request,
                     const std::function<void(SweepTeam&)>& work) {
  if (options.device == DeviceKind::cuda) cuda::prepare_local_team();
  auto meetings = make_local_bootstraps(ranks);
  std::vector<std::vector<std::unique_ptr<Bootstrap>>> teams;
  for (int spare = 0; spare < most_communicators; ++spare) teams.push_back(make_local_bootstraps(ranks));
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  const auto run = [&](std::size_t me) {
    try {
      std::size_t made = 0;
      const auto make = [&](double timeout_s) {
        Options mine = options;
        mine.timeout_s = timeout_s;
        return std::make_unique<Communicator>(std::move(teams.at(made++).at(me)), mine);
      };
      SweepTeam team(std::move(meetings[me]), make, request);
      const Watchdog watchdog(team.patience_s());
      work(team);
    } catch (...) {
      errors[me] = std::current_exception();
    }
    for (auto& spare : teams) spare[me].reset();  // nobody waits there for a rank that is gone
  };
  std::vector<std::thread> threads;
  for (std::size_t r = 1; r < errors.size(); ++r) threads.emplace_back(run, r);
  run(0);
  for (auto& thread : threads) thread.join();
  rethrow_cause(std::move(errors));
}

void require_local_team(const MpiSession& session, DeviceKind device, int ranks) {
  if (ranks < 1 || ranks > max_ranks)
    throw Error(Status::usage, fmt::format("--local {}: a team has 1 to {} ranks", ranks, max_ranks), "use 2 to 8");
  if (device != DeviceKind::cuda)
    throw Error(Status::usage, "--local is a team of streams of one GPU", "on host start ranks with mpirun -n");
  if (session.size() > 1)
    throw Error(Status::usage, fmt::format("--local is one process, {} were started", session.size()),
                "start it without mpirun");
}

std::string describe_local_team(int ranks) {
  return fmt::format("local team: {} streams of one GPU; no link between GPUs is in these times", ranks);
}

}  // namespace attune::driver
