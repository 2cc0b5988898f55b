// tuner_lab [--full] [--short] [--machine NAME] [--seeds N] [scores.csv]
// The tuner laboratory: search and decision scored on simulated machines against the plain method and against measuring
// everything. Prints its table, writes scores.csv (plots/tuner_lab.py draws it) and short.csv (budgets as short as
// those of a sweep over many tables) and fails if the promises do not hold.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
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

struct ShortRow {
  std::string machine, method;
  DType dtype;
  double coverage = 0, used = 0;
  Score score;
  int seed = 0;
};

std::vector<ShortRow> run_short(const Kind& kind, int seed) {
  std::vector<ShortRow> rows;
  for (const SearchKind search : {SearchKind::racing, SearchKind::exhaustive}) {
    Machine machine(kind, static_cast<std::uint64_t>(seed) * 1000 + 1, Clock::real());
    for (const ShortOutcome& one : with_short_budgets(machine, search))
      rows.push_back({kind.name, search == SearchKind::racing ? "racing" : "exhaustive", one.dtype, one.coverage,
                      one.used, score(machine, one.rules, scored_sizes, static_cast<std::uint64_t>(seed), one.dtype),
                      seed});
  }
  return rows;
}

void write_short(const std::vector<ShortRow>& rows, const std::string& path) {
  std::ofstream file(path);
  file << "machine,method,dtype,coverage,used,regret,false_switch,worst,seed\n";
  for (const ShortRow& row : rows)
    file << row.machine << ',' << row.method << ',' << name_of(row.dtype) << ',' << row.coverage << ',' << row.used
         << ',' << row.score.regret << ',' << row.score.false_switch << ',' << row.score.worst << ',' << row.seed
         << '\n';
}

struct ShortSummary {
  std::vector<double> regret, coverage, switches, over;
};

/// By method and, unless all are wanted together, by machine.
ShortSummary short_summary(const std::vector<ShortRow>& rows, const std::string& method, const std::string& machine) {
  ShortSummary summary;
  for (const ShortRow& row : rows) {
    if (row.method != method || (!machine.empty() && row.machine != machine)) continue;
    summary.regret.push_back(row.score.regret);
    summary.coverage.push_back(row.coverage);
    summary.switches.push_back(row.score.false_switch);
    summary.over.push_back(row.used - 1);
  }
  return summary;
}

void print_short(const std::vector<ShortRow>& rows, const std::vector<std::string>& machines) {
  std::printf("short budgets, %.1f s a table\n  %-16s %-11s %9s %9s %10s %10s\n", short_budget_s, "machine", "method",
              "regret", "worst", "coverage", "switches");
  for (const std::string& machine : machines)
    for (const char* method : {"racing", "exhaustive"}) {
      const ShortSummary one = short_summary(rows, method, machine);
      std::printf("  %-16s %-11s %8.2f%% %8.2f%% %9.0f%% %9.2f%%\n", machine.empty() ? "all" : machine.c_str(), method,
                  100 * median(one.regret), 100 * *std::ranges::max_element(one.regret), 100 * mean(one.coverage),
                  100 * mean(one.switches));
    }
}

int promise(double found, double limit, const char* words) {
  const bool holds = found <= limit;
  std::printf("%s: %s (%.2f %%, limit %.2f %%)\n", holds ? "holds" : "BROKEN", words, 100 * found, 100 * limit);
  return holds ? 0 : 1;
}

int short_promises(const std::vector<ShortRow>& rows) {
  const ShortSummary racing = short_summary(rows, "racing", "");
  return promise(mean(racing.regret), 0.03, "with short budgets the mean regret is at most 3 %") +
         promise(1 - mean(racing.coverage), 0.1, "at most a tenth of the sizes is decided from afar") +
         promise(mean(racing.switches), 0.01, "at most 1 % of choices leave a default that is faster") +
         promise(*std::ranges::max_element(racing.over), 0.05, "no budget is overrun by more than 5 %");
}

int promises(const Summaries& all) {
  const Summary& racing = all.at({"racing", judged_share});
  const Summary& plain = all.at({"plain", judged_share});
  const Summary& everything = all.at({"exhaustive", 1.0});
  return promise(median(racing.regret), median(plain.regret) / 2,
                 "at equal samples the median regret is at most half of the plain method's") +
         promise(mean(racing.switches), 0.01, "at most 1 % of choices leave a default that is faster") +
         promise(mean(racing.samples) / mean(everything.samples), 0.25,
                 "racing used at most a quarter of the samples") +
         promise(median(racing.regret), median(everything.regret) + 0.01,
                 "with them its regret is within 1 point of measuring everything");
}

struct Request {
  Extent extent;
  std::string path = "scores.csv";
  std::string machine;  ///< Empty: all.
  bool only_short = false;
};

Request parse(int argc, char** argv) {
  Request request;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--full")
      request.extent = {8, {0.02, 0.05, 0.1, 0.25, 0.5}, {1, 2, 4, 8}, 2};
    else if (word == "--short")
      request.only_short = true;
    else if (word == "--machine" && i + 1 < argc)
      request.machine = argv[++i];
    else if (word == "--seeds" && i + 1 < argc)
      request.extent.seeds = std::stoi(argv[++i]);
    else if (word.starts_with("-")) {
      std::fprintf(stderr, "usage: tuner_lab [--full] [--short] [--machine NAME] [--seeds N] [scores.csv]\n");
      std::exit(6);
    } else
      request.path = word;
  }
  return request;
}

int run(const Request& request) {
  std::vector<Row> rows;
  std::vector<ShortRow> short_rows;
  std::vector<std::string> machines;
  for (Kind kind : all_kinds()) {
    if (!request.machine.empty() && kind.name != request.machine) continue;
    machines.push_back(kind.name);
    for (int seed = 1; seed <= request.extent.seeds; ++seed)
      for (ShortRow& row : run_short(kind, seed)) short_rows.push_back(std::move(row));
    if (request.only_short) continue;
    kind.blocks = request.extent.blocks;
    kind.size_factor = request.extent.size_factor;
    for (int seed = 1; seed <= request.extent.seeds; ++seed)
      for (Row& row : run_machine(kind, seed, request.extent.shares)) rows.push_back(std::move(row));
  }
  machines.emplace_back();
  print_short(short_rows, machines);
  const int broken = short_promises(short_rows);
  if (request.only_short) return broken;
  for (const std::string& machine : machines)
    print(machine.empty() ? "all machines" : machine, summarise(rows, machine));
  write(rows, request.path);
  write_short(short_rows, std::filesystem::path(request.path).replace_filename("short.csv").string());
  return broken + promises(summarise(rows, ""));
}

}  // namespace
}  // namespace attune::tuner::lab

int main(int argc, char** argv) {
  using namespace attune::tuner::lab;
  return run(parse(argc, argv)) == 0 ? 0 : 1;
}
