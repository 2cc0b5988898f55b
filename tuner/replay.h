#pragma once
/// A runner that answers from a journal: searches are repeated, tested and compared without the machine.
#include <map>
#include <vector>

#include "tuner/runner.h"

namespace attune::tuner {

class ReplayRunner : public Runner {
 public:
  /// Only records of one mode and cache state should be given. `overhead_s` is added to the clock for every call.
  explicit ReplayRunner(std::span<const Record> records, double overhead_s = 0);

  /// The k-th round of a problem plays each plan's k-th recorded block (from the first again when they are used up), so
  /// that what was interleaved stays paired. A cell that is not in the journal is `unsupported`.
  [[nodiscard]] std::vector<Measured> round(const Problem& problem, std::span<const Plan> plans,
                                            int calls_per_plan) override;
  /// The sum of all times played, and overheads.
  [[nodiscard]] double now_s() override { return clock_s_; }

 private:
  std::map<std::pair<Problem, Plan>, std::vector<Record>> cells_{};
  std::map<Problem, std::size_t> rounds_{};
  double overhead_s_;
  double clock_s_ = 0;
};

}  // namespace attune::tuner
