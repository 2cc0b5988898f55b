#include "tuner/search.h"

#include <algorithm>
#include <cmath>
#include <list>

#include "tuner/confirm.h"

namespace attune::tuner {
namespace {

constexpr double whole_share = 0.50;
constexpr double cover_share = 0.65;
constexpr double coarse_share = 0.40;
constexpr double sizes_share = 0.55;
constexpr double crossovers_share = 0.70;
constexpr int most_bisections = 8;
constexpr std::size_t all_plans = 1000;
constexpr double one_race = 0.5;      ///< Of the time for them, what one race with all plans may take at most.
constexpr std::size_t few_plans = 2;  ///< That a size takes over from each neighbour when time is short.

bool contains(const std::vector<Plan>& plans, const Plan& plan) {
  return std::ranges::find(plans, plan) != plans.end();
}

/// Those of `wanted` (and the vendor) that can run.
std::vector<Plan> runnable(const std::vector<Plan>& plans, const std::vector<Plan>& wanted) {
  std::vector<Plan> chosen;
  for (const Plan& plan : plans)
    if (plan.variant == "vendor" || contains(wanted, plan)) chosen.push_back(plan);
  return chosen;
}

/// 0…n-1 from the middle outwards: each next one halves the widest gap.
std::vector<std::size_t> middle_out(std::size_t n) {
  std::vector<std::size_t> order;
  std::vector<std::pair<std::size_t, std::size_t>> gaps{{0, n}};
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto [first, last] = gaps[i];
    if (first == last) continue;
    const std::size_t middle = first + (last - first) / 2;
    order.push_back(middle);
    gaps.emplace_back(first, middle);
    gaps.emplace_back(middle + 1, last);
  }
  return order;
}

class Search {
 public:
  Search(std::span<const Task> tasks, const FactsOf& facts, const SearchOptions& options, Session& session)
      : tasks_(tasks), facts_(facts), options_(options), session_(session) {}

  void exhaustive() {
    options_.race = options_.everything;
    for (const Task& task : tasks_)
      for (const std::size_t i : middle_out(task.problems.size()))
        start(task, task.problems[i], task.plans(task.problems[i]));
    advance(1, options_.race.rungs);
    if (session_.samples() == 0 && !races_.empty()) races_.front().race.step(session_);  // the least that says anything
  }

  [[nodiscard]] bool complete() const {
    return confirmed_ && !skipped_ &&
           std::ranges::all_of(races_, [](const Entry& entry) { return entry.race.finished(); });
  }

  void racing() {
    for (const Task& task : tasks_) race_wholly(task, coarse_of(task));
    if (session_.samples() == 0) race_least();
    for (const Task& task : tasks_) race_sparsely(task, coarse_of(task));
    races_.sort([](const Entry& a, const Entry& b) { return a.race.problem().bytes() < b.race.problem().bytes(); });
    advance(coarse_share, options_.race.rungs);
    for (const Task& task : tasks_) start_between(task);
    advance(sizes_share, options_.race.rungs);
    for (int round = 0; round < most_bisections && start_crossovers(); ++round)
      advance(crossovers_share, options_.race.rungs);
    std::vector<Problem> problems;
    for (const Entry& entry : races_) problems.push_back(entry.race.problem());
    confirmed_ = confirm(problems, facts_, options_, session_);
  }

 private:
  struct Entry {
    const Task* task;
    Race race;
  };

  void start(const Task& task, const Problem& problem, std::vector<Plan> plans) {
    races_.push_back({&task, Race(problem, std::move(plans), options_.race)});
  }

  /// Steps unfinished races, those with the fewest rungs first, up to `rungs` rungs and while they fit into this share.
  void advance(double share, int rungs) {
    for (int rung = 0; rung < rungs; ++rung)
      for (Entry& entry : races_)
        if (!entry.race.finished() && entry.race.rung() == rung && fits(entry.race, share)) entry.race.step(session_);
  }

  /// A size that is expected not to fit, but was never measured, gets one call of the vendor: large sizes are often far
  /// cheaper than in proportion to the nearest known one.
  bool fits(const Race& race, double share, double part = 1) {
    const Problem& problem = race.problem();
    const std::vector<Plan> plans = race.survivors();
    const auto would_fit = [&] {
      return session_.expected_s(problem, plans, race.next_calls()) <= part * session_.left_s(share);
    };
    const bool blind = session_.options().budget_s > 0 && session_.knows_nothing();
    if (!blind && would_fit()) return true;
    if (session_.knows(problem) || plans.empty()) return false;
    const auto vendor = std::ranges::find(plans, "vendor", &Plan::variant);
    const Plan& probe = vendor == plans.end() ? plans.front() : *vendor;
    if (!session_.fits(problem, std::span(&probe, 1), 1, share)) return false;
    session_.probe(problem, probe);
    return would_fit();
  }

  /// The first rung with all plans at as many coarse sizes as the time is for, spread from the smallest (which tells
  /// what things cost) over the middle to both ends, but none that alone would take most of what is left.
  void race_wholly(const Task& task, const std::vector<Problem>& coarse) {
    std::vector<std::size_t> order = middle_out(coarse.size());
    if (!order.empty()) order.insert(order.begin(), 0);
    for (bool any = true; any;) {
      any = false;
      for (const std::size_t i : order) {
        if (race_of(coarse[i]) != nullptr) continue;
        Race race(coarse[i], task.plans(coarse[i]), options_.race);
        if (!fits(race, whole_share, one_race)) continue;
        race.step(session_);
        races_.push_back({&task, std::move(race)});
        any = true;
      }
    }
  }

  /// The coarse sizes that are left race with what is best at the sizes around them, and with the vendor.
  void race_sparsely(const Task& task, const std::vector<Problem>& coarse) {
    for (const Problem& problem : coarse) {
      if (race_of(problem) != nullptr) continue;
      bool raced = false;
      for (std::size_t few = few_plans; few > 0 && !raced; --few) {
        Race race(problem, runnable(task.plans(problem), best_around(task, problem, few)), options_.race);
        raced = !race.survivors().empty() && fits(race, cover_share);
        if (!raced) continue;
        race.step(session_);
        races_.push_back({&task, std::move(race)});
      }
      skipped_ = skipped_ || !raced;
    }
  }

  /// Whatever the budget, one size is measured.
  void race_least() {
    for (const Task& task : tasks_) {
      if (task.problems.empty()) continue;
      start(task, task.problems.front(), task.plans(task.problems.front()));
      return races_.back().race.step(session_);
    }
  }

  /// The best plans of the nearest smaller and the nearest larger size that have raced.
  std::vector<Plan> best_around(const Task& task, const Problem& problem, std::size_t few) const {
    const Race* below = nullptr;
    const Race* above = nullptr;
    for (const Entry& entry : races_) {
      if (entry.task != &task || entry.race.rung() == 0) continue;
      const Bytes bytes = entry.race.problem().bytes();
      if (bytes < problem.bytes() && (below == nullptr || bytes > below->problem().bytes())) below = &entry.race;
      if (bytes > problem.bytes() && (above == nullptr || bytes < above->problem().bytes())) above = &entry.race;
    }
    std::vector<Plan> best;
    for (const Race* race : {below, above}) {
      if (race == nullptr) continue;
      const std::vector<Plan> plans = race->survivors();
      best.insert(best.end(), plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(std::min(few, plans.size())));
    }
    return best;
  }

  std::vector<Problem> coarse_of(const Task& task) const {
    std::vector<Problem> coarse;
    for (const Problem& problem : task.problems) {
      const bool far =
          coarse.empty() || static_cast<double>(problem.bytes()) >=
                                options_.coarse * static_cast<double>(std::max<Bytes>(coarse.back().bytes(), 1));
      if (far || &problem == &task.problems.back()) coarse.push_back(problem);
    }
    return coarse;
  }

  const Race* race_of(const Problem& problem) const {
    for (const Entry& entry : races_)
      if (entry.race.problem() == problem) return &entry.race;
    return nullptr;
  }

  /// Sizes between the coarse ones race with what survived on both sides.
  void start_between(const Task& task) {
    const std::vector<Problem> coarse = coarse_of(task);
    for (const Problem& problem : task.problems) {
      if (race_of(problem) != nullptr || std::ranges::find(coarse, problem) != coarse.end()) continue;
      start(task, problem, runnable(task.plans(problem), best_around(task, problem, all_plans)));
    }
  }

  /// Starts a race in the middle of every gap that a switch of plans leaves too wide. False if there is none.
  bool start_crossovers() {
    bool any = false;
    for (const Task& task : tasks_) {
      std::vector<Problem> mine;
      for (const Entry& entry : races_)
        if (entry.task == &task) mine.push_back(entry.race.problem());
      const std::vector<Decision> decisions = decide_all(session_.records_of(mine), facts_, options_.decision);
      for (std::size_t i = 1; i < decisions.size(); ++i) any = bisect(task, decisions[i - 1], decisions[i]) || any;
    }
    return any;
  }

  bool bisect(const Task& task, const Decision& below, const Decision& above) {
    const auto low = static_cast<double>(std::max<Bytes>(below.bytes, size_of(below.problem.dtype)));
    const auto high = static_cast<double>(above.bytes);
    if (below.chosen == above.chosen || high / low <= options_.crossover) return false;
    const auto loses = [&](const Decision& decision, const Plan& plan) {
      const Candidate* candidate = decision.find(plan);
      return candidate == nullptr || candidate->loss > options_.decision.tie;
    };
    if (!loses(above, below.chosen) && !loses(below, above.chosen)) return false;
    const Problem middle = resized(above.problem, static_cast<Bytes>(std::sqrt(low * high)));
    if (middle.bytes() <= below.bytes || middle.bytes() >= above.bytes || race_of(middle) != nullptr) return false;
    std::vector<Plan> wanted{below.chosen, above.chosen};
    for (const Decision* side : {&below, &above})
      if (const Race* race = race_of(side->problem))
        for (const Plan& plan : race->survivors()) wanted.push_back(plan);
    start(task, middle, runnable(task.plans(middle), wanted));
    return true;
  }

  std::span<const Task> tasks_;
  const FactsOf& facts_;
  SearchOptions options_;
  Session& session_;
  std::list<Entry> races_;
  bool confirmed_ = true;
  bool skipped_ = false;  ///< A coarse size had no time at all.
};

}  // namespace

bool search(std::span<const Task> tasks, const FactsOf& facts, const SearchOptions& options, Session& session) {
  Search run(tasks, facts, options, session);
  if (options.kind == SearchKind::exhaustive)
    run.exhaustive();
  else
    run.racing();
  return run.complete();
}

Problem resized(const Problem& problem, Bytes bytes) {
  Problem other = problem;
  const Index elements = std::max<Index>(bytes / size_of(problem.dtype), 1);
  if (problem.rows == 0) {
    other.count = elements;
    return other;
  }
  other.rows = std::max<Index>(elements / std::max<Index>(problem.cols, 1), 1);
  other.count = other.rows * problem.cols;
  return other;
}

}  // namespace attune::tuner
