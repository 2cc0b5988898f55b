#pragma once
/// Where times come from. The search asks one thing only: an interleaved round. Live measuring (in the program),
/// replayed journals and simulated machines answer it, so the loop that decides what to measure exists once.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/plan.h"
#include "tuner/record.h"

namespace attune::tuner {

/// One plan's block of calls in a round.
struct Measured {
  CellStatus status = CellStatus::ok;
  std::vector<double> samples_us{};  ///< Accepted calls, in order; may be fewer than asked for.
  int rejected = 0;
  double setup_s = 0;  ///< Of the round's time: what this plan cost because it was new here (validation, first calls).
  bool noisy = false;
  bool oversubscribed = false;
  std::optional<Clock> clock{};
  std::string reason{};
  std::string ran{};
};

class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;

  /// Runs every plan once in an order of the runner's choice (random for live measuring): untimed calls as it needs
  /// them, then `calls_per_plan` timed ones. The answers stand in the order of `plans`. A plan that cannot run, hangs
  /// or is wrong is an answer with that status, not an exception.
  [[nodiscard]] virtual std::vector<Measured> round(const Problem& problem, std::span<const Plan> plans,
                                                    int calls_per_plan) = 0;

  /// Seconds since any fixed instant, on the clock that a time budget is counted on.
  [[nodiscard]] virtual double now_s() = 0;
};

}  // namespace attune::tuner
