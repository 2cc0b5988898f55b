#include "tuner/search.h"

#include <algorithm>
#include <cmath>
#include <list>

#include "tuner/confirm.h"
#include "tuner/prospects.h"

namespace attune::tuner {
namespace {

constexpr double cover_share = 0.45;       ///< Of the budget: until here every coarse size gets its first rung,
constexpr double stretch_share = 0.55;     ///< those that were too dear for it, with two plans each,
constexpr double coarse_share = 0.40;      ///< further rungs of them,
constexpr double sizes_share = 0.55;       ///< the sizes between,
constexpr double crossovers_share = 0.70;  ///< and crossovers; the rest measures winners afresh.
constexpr int most_bisections = 8;
constexpr std::size_t all_plans = 1000;
constexpr double hopeless_ratio = 2;  ///< Plans that are expected to be slower than this are left out where a first…
constexpr double dear_part = 0.5;     ///< …rung with all plans takes more than this part of the size's time.
constexpr double likely_loss = 0.05;  ///< Expected at a size between two with different winners, before it raced,
constexpr double unlikely_loss = 0.005;  ///< and between two with the same winner.

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
    const bool nothing = std::ranges::all_of(races_, [](const Entry& entry) { return entry.race.rung() == 0; });
    if (nothing && !races_.empty()) races_.front().race.step(session_);  // the least that says anything
  }

  [[nodiscard]] bool complete() const {
    return confirmed_ && !skipped_ &&
           std::ranges::all_of(races_, [](const Entry& entry) { return entry.race.finished(); });
  }

  void racing() {
    cover();
    improve(coarse_share);
    for (const Task& task : tasks_) start_between(task);
    improve(sizes_share);
    for (int round = 0; round < most_bisections && start_crossovers(); ++round) improve(crossovers_share);
    races_.sort([](const Entry& a, const Entry& b) { return a.race.problem().bytes() < b.race.problem().bytes(); });
    std::vector<Problem> problems;
    for (const Entry& entry : races_) problems.push_back(entry.race.problem());
    confirmed_ = confirm(problems, facts_, options_, session_);
  }

 private:
  struct Entry {
    const Task* task;
    Race race;
    double loss = likely_loss;  ///< Expected before its first rung.

    [[nodiscard]] double doubt() const { return race.rung() == 0 ? loss : race.doubt(); }
  };
  struct Place {
    const Task* task;
    Problem problem;
  };

  void start(const Task& task, const Problem& problem, std::vector<Plan> plans, double loss = likely_loss) {
    races_.push_back({&task, Race(problem, std::move(plans), options_.race), loss});
  }

  /// Steps unfinished races, those with the fewest rungs first, up to `rungs` rungs and while they fit into this share.
  void advance(double share, int rungs) {
    for (int rung = 0; rung < rungs; ++rung)
      for (Entry& entry : races_)
        if (!entry.race.finished() && entry.race.rung() == rung && fits(entry.race, session_.left_s(share)))
          entry.race.step(session_);
  }

  /// Steps that race, over and over, which is expected to lessen the loss of the table most for its time.
  void improve(double share) {
    for (;;) {
      Entry* next = nullptr;
      double most = -1;
      for (Entry& entry : races_) {
        if (entry.race.finished()) continue;
        const double seconds = seconds_of(entry.race);
        const double rate = entry.doubt() / std::max(seconds, 1e-9);
        if (rate > most && seconds <= session_.left_s(share)) next = &entry, most = rate;
      }
      if (next == nullptr) return;
      next->race.step(session_);
    }
  }

  double seconds_of(const Race& race) const {
    const std::vector<Plan> plans = race.survivors();
    return session_.expected_s(race.problem(), plans, race.next_calls(session_));
  }

  /// A size that is expected not to fit, but was never measured, gets one call of the vendor: large sizes are often far
  /// cheaper than in proportion to the nearest known one.
  bool fits(const Race& race, double left_s) {
    const Problem& problem = race.problem();
    const std::vector<Plan> plans = race.survivors();
    const bool blind = session_.options().budget_s > 0 && session_.knows_nothing();
    if (!blind && seconds_of(race) <= left_s) return true;
    if (session_.knows(problem) || plans.empty()) return false;
    const auto vendor = std::ranges::find(plans, "vendor", &Plan::variant);
    const Plan& probe = vendor == plans.end() ? plans.front() : *vendor;
    if (session_.expected_s(problem, std::span(&probe, 1), 1) > left_s) return false;
    session_.probe(problem, probe);
    return seconds_of(race) <= left_s;
  }

  /// The first rung of every coarse size, from the smallest on, because time grows with the size: with all plans if
  /// that takes no more than this size's part of the time, else with the vendor and as many as fit of those that do
  /// well at the sizes below and in other tables. Then, from the middle outwards, the sizes that had too little; what
  /// is left of this share goes to plans that were left out, from the smallest size on.
  void cover() {
    std::vector<Place> places;
    for (const Task& task : tasks_)
      for (const Problem& problem : coarse_of(task)) places.push_back({&task, problem});
    std::ranges::stable_sort(places, {}, [](const Place& place) { return place.problem.bytes(); });
    for (std::size_t i = 0; i < places.size(); ++i)
      (void)race_with_most(places[i], session_.left_s(cover_share) / static_cast<double>(places.size() - i));
    if (races_.empty()) race_least();
    for (const std::size_t i : middle_out(places.size()))
      if (race_of(places[i].problem) == nullptr && !race_with_most(places[i], session_.left_s(stretch_share), 2))
        skipped_ = true;
    races_.sort([](const Entry& a, const Entry& b) { return a.race.problem().bytes() < b.race.problem().bytes(); });
    for (Entry& entry : races_) admit_left_out(entry);
  }

  /// What was expected to be too dear may fit now: the most promising of the plans that a size has not tried and that
  /// are not likely to be hopeless.
  void admit_left_out(Entry& entry) {
    const Problem& problem = entry.race.problem();
    std::vector<Plan> late;
    for (const Prospect& prospect : prospects(session_, problem, entry.task->plans(problem)))
      if (prospect.likely <= hopeless_ratio && !entry.race.has(prospect.plan)) late.push_back(prospect.plan);
    const std::int64_t calls = Race(problem, late, options_.race).next_calls(session_);
    for (; !late.empty(); late.pop_back()) {
      std::vector<Plan> running = entry.race.survivors();
      running.insert(running.end(), late.begin(), late.end());
      if (session_.expected_s(problem, running, calls) > session_.left_s(cover_share)) continue;
      entry.race.admit(late);
      return entry.race.step(session_);
    }
  }

  /// The first rung of a size: in this time all plans that may win there, in three rounds, or in two if that is all
  /// that fits, else as many as fit, the most promising, two at least. False: none do.
  bool race_with_most(const Place& place, double left_s, std::size_t most = all_plans) {
    std::vector<Plan> plans = promising(place, left_s, most);
    RaceOptions short_rung = options_.race;
    short_rung.first_rounds = std::min(short_rung.first_rounds, 2);
    if (session_.knows_nothing() && !plans.empty()) (void)fits(Race(place.problem, plans, options_.race), left_s);
    if (race_if_fits(place, plans, options_.race, left_s)) return true;
    const std::size_t least = std::min<std::size_t>(plans.size(), 2);
    for (; !plans.empty() && plans.size() >= least; plans.pop_back()) {
      if (plans.size() == least)
        (void)fits(Race(place.problem, plans, short_rung), left_s);  // a probe is worth its time
      if (race_if_fits(place, plans, short_rung, left_s)) return true;
    }
    return false;
  }

  bool race_if_fits(const Place& place, const std::vector<Plan>& plans, const RaceOptions& options, double left_s) {
    Race race(place.problem, plans, options);
    const bool blind = session_.options().budget_s > 0 && session_.knows_nothing();
    if (plans.empty() || blind || seconds_of(race) > left_s) return false;
    race.step(session_);
    races_.push_back({place.task, std::move(race)});
    return true;
  }

  std::vector<Plan> promising(const Place& place, double left_s, std::size_t most) const {
    const std::vector<Prospect> ranked = prospects(session_, place.problem, place.task->plans(place.problem));
    std::vector<Plan> plans;
    for (const Prospect& prospect : ranked) plans.push_back(prospect.plan);
    const std::int64_t calls = Race(place.problem, plans, options_.race).next_calls(session_);
    const bool dear = session_.expected_s(place.problem, plans, calls) > dear_part * left_s;
    while (plans.size() > 2 && (plans.size() > most || (dear && ranked[plans.size() - 1].ratio > hopeless_ratio)))
      plans.pop_back();
    return plans;
  }

  /// Whatever the budget, one size is measured.
  void race_least() {
    for (const Task& task : tasks_) {
      if (task.problems.empty()) continue;
      start(task, task.problems.front(), task.plans(task.problems.front()));
      return races_.back().race.step(session_);
    }
  }

  struct Neighbours {
    const Race* below = nullptr;
    const Race* above = nullptr;
  };
  /// The nearest smaller and the nearest larger size that have raced.
  Neighbours around(const Task& task, const Problem& problem) const {
    Neighbours near;
    for (const Entry& entry : races_) {
      if (entry.task != &task || entry.race.rung() == 0) continue;
      const Bytes bytes = entry.race.problem().bytes();
      if (bytes < problem.bytes() && (near.below == nullptr || bytes > near.below->problem().bytes()))
        near.below = &entry.race;
      if (bytes > problem.bytes() && (near.above == nullptr || bytes < near.above->problem().bytes()))
        near.above = &entry.race;
    }
    return near;
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
      const Neighbours near = around(task, problem);
      std::vector<Plan> wanted;
      for (const Race* race : {near.below, near.above})
        if (race != nullptr)
          for (const Plan& plan : race->survivors()) wanted.push_back(plan);
      const bool alike = near.below != nullptr && near.above != nullptr && !near.below->survivors().empty() &&
                         !near.above->survivors().empty() &&
                         near.below->survivors().front() == near.above->survivors().front();
      start(task, problem, runnable(task.plans(problem), wanted), alike ? unlikely_loss : likely_loss);
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
