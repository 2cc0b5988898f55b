#pragma once
/// One problem's candidates against each other, rung by rung. A rung adds interleaved rounds for all that are still in;
/// after it those that are surely slower than the best drop out. Measuring everything to the end is the same without
/// elimination.
#include <vector>

#include "tuner/session.h"

namespace attune::tuner {

struct RaceOptions {
  bool eliminate = true;
  int calls = 3;              ///< Timed calls of a plan in a round.
  int first_rounds = 3;       ///< Rung 0; every later rung doubles the rounds so far.
  double long_call_s = 0.02;  ///< Calls that take longer are timed one by one, in more rounds: they say as much each.
  int long_rounds = 5;
  int rungs = 6;          ///< Rungs 0…5: at most 96 rounds.
  double hopeless = 1.5;  ///< After rung 0: out if slower than this many times the best.
  double alpha = 0.05;    ///< Chance that any candidate is dropped wrongly, over all of them and all rungs.
  double tie = 0.02;      ///< Stop when all that are left are this near to each other, surely.

  /// No elimination: every plan from 9 to 576 calls, until its interval is within the session's precision.
  [[nodiscard]] static constexpr RaceOptions everything() {
    RaceOptions options;
    options.eliminate = false;
    options.rungs = 7;
    return options;
  }
};

class Race {
 public:
  Race(Problem problem, std::vector<Plan> candidates, RaceOptions options);

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] int rung() const { return rung_; }
  /// Does it know the plan, in the race or out of it?
  [[nodiscard]] bool has(const Plan& plan) const;
  /// Lets plans in that were left out. The next rung is a first one again: those that it shows to be hopeless go.
  void admit(std::span<const Plan> late);
  /// Timed calls of each survivor in the next rung.
  [[nodiscard]] std::int64_t next_calls(const Session& session) const;
  /// How much the best plan so far may lose against any other that is still in: the expected loss, relative, from the
  /// rounds that both were in. 0 where there is nothing to choose.
  [[nodiscard]] double doubt() const;
  /// Runs the next rung (a part of it where the budget ends) and drops what it shows to be slower.
  void step(Session& session);
  /// Plans that are still in, fastest first. Before the first rung: all.
  [[nodiscard]] std::vector<Plan> survivors() const;

 private:
  struct Entry {
    Plan plan;
    bool alive = true;
    std::vector<double> log_times;  ///< Logarithm of each round's median, NaN where all calls were rejected.
    double level = 0;               ///< Their median; infinite before the first.
  };
  [[nodiscard]] bool long_calls(const Session& session) const;
  [[nodiscard]] int next_rounds(bool long_calls) const;
  [[nodiscard]] const Entry* best() const;
  void note(Entry& entry, const Measured& measured);
  void drop_hopeless();
  void drop_slower();
  [[nodiscard]] bool tied() const;
  [[nodiscard]] bool settled(const Session& session) const;

  Problem problem_;
  RaceOptions options_;
  std::vector<Entry> entries_;
  std::size_t started_with_;
  int rounds_ = 0;
  int rung_ = 0;
  bool fresh_ = true;  ///< Some are in that have not run yet.
  bool finished_ = false;
};

}  // namespace attune::tuner
