#pragma once
/// The tuner's source of times on a live team: validates a cell before its first block, measures blocks in random
/// order, and notes what is running, so that a run that dies names its killer.
#include <functional>
#include <map>
#include <random>

#include "src/sweep_worker.h"
#include "tuner/runner.h"

namespace attune::driver {

class LiveRunner final : public tuner::Runner {
 public:
  /// Called before a cell runs (for the run folder's note of what is running).
  using Note = std::function<void(const Problem&, const Plan&)>;
  /// Lives on rank 0; the others serve(). `seed` orders the rounds.
  LiveRunner(SweepWorker& worker, std::uint64_t seed, Note note);

  [[nodiscard]] std::vector<tuner::Measured> round(const Problem& problem, std::span<const Plan> plans,
                                                   int calls_per_plan) override;
  [[nodiscard]] double now_s() override;
  /// Does the clock run while cells are validated and warmed up? It does where a budget is short, and stands still
  /// where only the measuring of a cell is limited.
  void count_setup(bool counts) { counts_setup_ = counts; }

  /// True while an order is carried out: an error then is everybody's already.
  [[nodiscard]] bool in_order() const { return in_order_; }

 private:
  /// What is known of a cell after its first calls.
  struct Known {
    CellCheck check{};
    std::string ran{};  ///< What the vendor's library said that it ran.
    bool slow = false;  ///< One call works through more memory than caches hold: nothing is warm before the next.
  };
  [[nodiscard]] tuner::Measured measure(const Problem& problem, const Plan& plan, int calls);
  [[nodiscard]] const Known& validated(const Problem& problem, const Plan& plan);

  [[nodiscard]] CellCheck validate(const Problem& problem, const Plan& plan);
  /// The same while the vendor's library tells what it runs.
  [[nodiscard]] Known validate_and_listen(const Problem& problem, const Plan& plan);
  [[nodiscard]] BlockOfSamples block(const Problem& problem, const Plan& plan, int warm_up, int calls);

  SweepWorker& worker_;
  bool in_order_ = false;
  bool counts_setup_ = true;
  double uncounted_s_ = 0;
  std::mt19937_64 random_;
  Note note_;
  std::map<std::pair<Problem, Plan>, Known> known_;
};

}  // namespace attune::driver
