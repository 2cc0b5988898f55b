#pragma once
/// One launch of measuring: runs rounds, keeps and hands out their records, and knows how long things take.
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tuner/record.h"
#include "tuner/runner.h"

namespace attune::tuner {

struct SessionOptions {
  std::string launch{};     ///< Names this start of the program in every record.
  double budget_s = 0;      ///< 0: none.
  double precision = 0.03;  ///< Half-width of a median's interval, relative, at which a cell has converged.
  double confidence = 0.99;
  Mode mode = Mode::latency;
  CacheState cache = CacheState::rewritten;
};

/// Equal but for the size.
[[nodiscard]] bool same_kind(Problem a, const Problem& b);

class Session {
 public:
  /// Every record goes to `sink` at once (the journal); it may be empty.
  using Sink = std::function<void(const Record&)>;
  Session(Runner& runner, SessionOptions options, Sink sink);

  /// Begins another search with a budget of its own; what earlier ones taught (times, and how long things take) stays.
  void start(double budget_s);

  /// One interleaved round. Plans without samples keep their status in the records.
  const std::vector<Measured>& round(const Problem& problem, std::span<const Plan> plans, int calls, Stage stage);

  /// One call whose time counts for what is expected of this size, and for nothing else: it is not recorded.
  void probe(const Problem& problem, const Plan& plan);

  /// Half the width of the interval of a cell's median at this stage, relative; infinite without enough samples.
  [[nodiscard]] double relative_half_width(const Problem& problem, const Plan& plan, Stage stage) const;

  [[nodiscard]] const SessionOptions& options() const { return options_; }
  [[nodiscard]] double elapsed_s() { return runner_.now_s() - start_s_; }
  /// Seconds that rounds of these plans with `calls` calls of each in all are expected to take: by the problem's own
  /// rounds, else by other kinds of problems of this very size, else by the trend of the nearest smaller sizes (in
  /// proportion to the bytes at most), else by another kind's trend, else 0. Plans that are new here cost their setup;
  /// those that are new to the session may cost far more than that (a communicator of their own).
  [[nodiscard]] double expected_s(const Problem& problem, std::span<const Plan> plans, std::int64_t calls) const;
  /// Seconds of one call, like `expected_s`.
  [[nodiscard]] double expected_call_s(const Problem& problem) const { return pace_of(problem).call_s; }
  [[nodiscard]] bool knows_nothing() const { return pace_.empty(); }
  /// Has this very problem been measured?
  [[nodiscard]] bool knows(const Problem& problem) const { return seen(problem) != nullptr; }
  /// Seconds until this share of the budget is used; infinite without a budget.
  [[nodiscard]] double left_s(double share);
  [[nodiscard]] bool fits(const Problem& problem, std::span<const Plan> plans, std::int64_t calls, double share) {
    return expected_s(problem, plans, calls) <= left_s(share);
  }

  [[nodiscard]] const std::vector<Record>& records() const { return records_; }
  /// The records of these problems, in order.
  [[nodiscard]] std::vector<Record> records_of(std::span<const Problem> problems) const;
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  /// What was measured of a problem while it was searched: median times by plan.
  [[nodiscard]] std::map<Plan, double> medians_of(const Problem& problem) const;
  /// All problems with samples.
  [[nodiscard]] std::vector<Problem> measured() const;

 private:
  struct Samples {
    std::vector<double> us{};
    std::size_t next_check =
        0;  ///< Intervals are looked at when the samples have grown by a fifth, not at every round.
    bool converged = false;
  };
  [[nodiscard]] bool converged(Samples& samples) const;

  /// Means of what was seen of a problem.
  struct Pace {
    double call_s = 0;
    double setup_s = 0;
  };
  struct Seen {
    double calls_s = 0, setups_s = 0;
    std::int64_t calls = 0, setups = 0;
    double least_first_s = std::numeric_limits<double>::infinity();
    std::set<Plan> plans{};
    [[nodiscard]] Pace pace() const;
  };
  using Known = std::pair<Bytes, Pace>;
  using Kind = std::map<Bytes, std::map<Problem, Seen>>;  ///< Shapes of equal bytes stand side by side.
  [[nodiscard]] const Seen* seen(const Problem& problem) const;
  [[nodiscard]] static std::vector<Known> paces(const Kind& kind);
  [[nodiscard]] std::optional<Pace> by_others(const Problem& problem, const Kind* own) const;
  [[nodiscard]] Pace pace_of(const Problem& problem) const;
  [[nodiscard]] double usual_first_setup_s() const;
  [[nodiscard]] static Pace trend(const std::vector<Known>& known, Bytes bytes);
  void note_time(const Problem& problem, std::span<const Plan> plans, int calls, double seconds);

  Runner& runner_;
  SessionOptions options_;
  Sink sink_;
  double start_s_;
  std::vector<Measured> last_{};
  std::vector<Record> records_{};
  std::int64_t samples_ = 0;
  std::map<Problem, int> rounds_{};
  std::map<Problem, std::map<std::pair<Plan, Stage>, Samples>> cells_{};
  std::map<Problem, Kind> pace_{};                       ///< By kind: a problem without a size.
  std::map<Plan, double> first_setup_s_{};               ///< Of each plan, wherever it first ran.
  std::map<Problem, std::vector<std::size_t>> index_{};  ///< Positions in records_.
};

}  // namespace attune::tuner
