// tuner_lab [--full] [scores.csv]
// The tuner laboratory: search and decision scored on simulated machines against the plain method and against measuring
// everything. Prints its table, writes scores.csv (plots/tuner_lab.py draws it) and fails if the promises do not hold.
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "tests/tuner_lab/methods.h"
#include "tuner/statistics.h"

namespace attune::tuner::lab {
namespace {

constexpr int scored_sizes = 100;
constexpr double judged_share = 0.25;

/// How much is run: what takes seconds and shows whether the promises hold, or (`--full`) what the published figure
/// shows.
struct Extent {
  int seeds = 1;
  std::vector<double> shares{judged_share};
  std::vector<int> blocks{1, 4};
  int size_factor = 4;
};

struct Row {
  std::string machine, method;
  double share = 1;  ///< Of the samples that measuring everything took.
  std::int64_t samples = 0;
  Score score;
  int seed = 0;
};

std::vector<Row> run_machine(const Kind& kind, int seed, const std::vector<double>& shares) {
  const auto fresh = [&] { return Machine(kind, static_cast<std::uint64_t>(seed) * 1000 + 1); };
  std::vector<Row> rows;
  const auto add = [&](const char* method, double share, const Outcome& outcome) {
    const Machine truth = fresh();
    rows.push_back({kind.name, method, share, outcome.samples,
                    score(truth, outcome.rules, scored_sizes, static_cast<std::uint64_t>(seed)), seed});
  };
  Machine whole = fresh();
  const Outcome everything = with_search(whole, SearchKind::exhaustive, 0);
  add("exhaustive", 1, everything);
  for (const double share : shares) {
    const auto budget = static_cast<std::int64_t>(share * static_cast<double>(everything.samples));
    Machine raced = fresh();
    add("racing", share, with_search(raced, SearchKind::racing, budget));
    Machine plain = fresh();
    add("plain", share, with_plain_means(plain, budget));
  }
  return rows;
}

void write(const std::vector<Row>& rows, const std::string& path) {
  std::ofstream file(path);
  file << "machine,method,budget_share,samples,regret,wrong_winner,false_switch,worst,seed\n";
  for (const Row& row : rows)
    file << row.machine << ',' << row.method << ',' << row.share << ',' << row.samples << ',' << row.score.regret << ','
         << row.score.wrong_winner << ',' << row.score.false_switch << ',' << row.score.worst << ',' << row.seed
         << '\n';
}

struct Summary {
  std::vector<double> regret, wrong, switches, samples;
};

using Summaries = std::map<std::pair<std::string, double>, Summary>;

Summaries summarise(const std::vector<Row>& rows, const std::string& machine) {
  Summaries summaries;
  for (const Row& row : rows) {
    if (!machine.empty() && row.machine != machine) continue;
    Summary& summary = summaries[{row.method, row.share}];
    summary.regret.push_back(row.score.regret);
    summary.wrong.push_back(row.score.wrong_winner);
    summary.switches.push_back(row.score.false_switch);
    summary.samples.push_back(static_cast<double>(row.samples));
  }
  return summaries;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

void print(const std::string& title, const Summaries& summaries) {
  std::printf("%s\n  %-11s %7s %9s %10s %10s %10s\n", title.c_str(), "method", "share", "samples", "regret", "wrong",
              "switches");
  for (const auto& [key, summary] : summaries)
    std::printf("  %-11s %6.0f%% %9.0f %9.2f%% %9.1f%% %9.2f%%\n", key.first.c_str(), 100 * key.second,
                mean(summary.samples), 100 * median(summary.regret), 100 * mean(summary.wrong),
                100 * mean(summary.switches));
}

int promises(const Summaries& all) {
  const Summary& racing = all.at({"racing", judged_share});
  const Summary& plain = all.at({"plain", judged_share});
  const Summary& everything = all.at({"exhaustive", 1.0});
  int broken = 0;
  const auto at_most = [&](double found, double limit, const char* promise) {
    const bool holds = found <= limit;
    std::printf("%s: %s (%.2f %%, limit %.2f %%)\n", holds ? "holds" : "BROKEN", promise, 100 * found, 100 * limit);
    broken += holds ? 0 : 1;
  };
  at_most(median(racing.regret), median(plain.regret) / 2,
          "at equal samples the median regret is at most half of the plain method's");
  at_most(mean(racing.switches), 0.01, "at most 1 % of choices leave a default that is faster");
  at_most(mean(racing.samples) / mean(everything.samples), 0.25, "racing used at most a quarter of the samples");
  at_most(median(racing.regret), median(everything.regret) + 0.01,
          "with them its regret is within 1 point of measuring everything");
  return broken;
}

}  // namespace
}  // namespace attune::tuner::lab

int main(int argc, char** argv) {
  using namespace attune::tuner::lab;
  std::string path = "scores.csv";
  Extent extent;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--full")
      extent = {8, {0.02, 0.05, 0.1, 0.25, 0.5}, {1, 2, 4, 8}, 2};
    else
      path = argv[i];
  }
  std::vector<Row> rows;
  for (Kind kind : all_kinds()) {
    kind.blocks = extent.blocks;
    kind.size_factor = extent.size_factor;
    for (int seed = 1; seed <= extent.seeds; ++seed)
      for (Row& row : run_machine(kind, seed, extent.shares)) rows.push_back(std::move(row));
  }
  for (const Kind& kind : all_kinds()) print(kind.name, summarise(rows, kind.name));
  const Summaries all = summarise(rows, "");
  print("all machines", all);
  write(rows, path);
  return promises(all) == 0 ? 0 : 1;
}
