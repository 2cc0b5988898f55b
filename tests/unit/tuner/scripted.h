#pragma once
/// A machine whose times are a function, for the tests of searches.
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "tests/unit/tuner/synthetic.h"
#include "tuner/search.h"

namespace attune::tuner::testing {

/// Times by a function, a little noise, and a clock that counts them and an overhead.
class Scripted : public Runner {
 public:
  using Time = std::function<double(const Plan&, Bytes)>;
  explicit Scripted(Time time, double noise = 0.005, double overhead_s = 0)
      : time_(std::move(time)), noise_(noise), overhead_s_(overhead_s) {}

  std::vector<Measured> round(const Problem& problem, std::span<const Plan> plans, int calls) override {
    ++rounds;
    std::normal_distribution<double> normal(0, noise_);
    std::vector<Measured> answers;
    for (const Plan& plan : plans) {
      Measured measured;
      if (fails && fails(plan)) measured.status = CellStatus::timed_out;
      if (setup_s && seen_.emplace(problem, plan).second) measured.setup_s = setup_s(problem.bytes());
      if (first_setup_s && known_.insert(plan).second) measured.setup_s += first_setup_s(plan);
      clock_s_ += measured.setup_s;
      for (int call = 0; call < calls && measured.status == CellStatus::ok; ++call) {
        measured.samples_us.push_back(time_(plan, problem.bytes()) * std::exp(normal(random_)));
        clock_s_ += measured.samples_us.back() * 1e-6 + overhead_s_;
      }
      answers.push_back(std::move(measured));
    }
    return answers;
  }
  [[nodiscard]] double time(const Plan& plan, Bytes bytes) const { return time_(plan, bytes); }
  double now_s() override { return 100 + clock_s_; }

  std::function<bool(const Plan&)> fails;
  std::function<double(Bytes)> setup_s;              ///< Of a cell's first round.
  std::function<double(const Plan&)> first_setup_s;  ///< Of a plan's first round anywhere.
  int rounds = 0;

 private:
  std::set<std::pair<Problem, Plan>> seen_;
  std::set<Plan> known_;
  Time time_;
  double noise_;
  double overhead_s_;
  std::mt19937_64 random_{1};
  double clock_s_ = 0;
};

}  // namespace attune::tuner::testing
