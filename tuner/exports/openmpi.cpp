/// Open MPI's coll/tuned rules. Rules are in bytes, but four of its algorithms fall back (rabenseifner to a very slow
/// one) when there are fewer elements than ranks: below `ranks` of the widest elements they are not named.
#include <algorithm>

#include "dispatch/json.h"
#include "tuner/exports/choices.h"

namespace attune::tuner::exports {
namespace {

constexpr Bytes widest_element = 16;
constexpr std::string_view own_decision = "Open MPI's own decision";

struct TunedAlgorithm {
  int id;
  std::string_view name;
  bool needs_count;        ///< Falls back with fewer elements than ranks.
  bool any_operation;      ///< Right for non-commutative operations too.
  bool only_json = false;  ///< Not before Open MPI 6.
};
constexpr std::array<TunedAlgorithm, 7> tuned_algorithms{{{1, "basic_linear", false, true},
                                                          {2, "nonoverlapping", false, true},
                                                          {3, "recursive_doubling", false, true},
                                                          {4, "ring", true, false},
                                                          {5, "segmented_ring", true, false},
                                                          {6, "rabenseifner", true, true},
                                                          {7, "allgather_reduce", false, true, true}}};

struct TunedChoice {
  const TunedAlgorithm* algorithm = nullptr;
  Bytes segment = 0;
  bool operator==(const TunedChoice&) const = default;
};
using Ranges = std::vector<Range<TunedChoice>>;

std::optional<TunedChoice> tuned_choice(const Rule& rule, const ExportOptions& options, bool json) {
  const auto words = words_behind(rule.plan.variant, "vendor:openmpi/");
  if (words.empty() || words.size() > 2) return std::nullopt;
  const auto found = std::ranges::find(tuned_algorithms, words[0], &TunedAlgorithm::name);
  if (found == tuned_algorithms.end() || (found->only_json && !json)) return std::nullopt;
  // Linear crashes at scale, but is right for every operation; ids 4 and 5 are not checked by Open MPI.
  if (options.safe_noncommutative && (!found->any_operation || found->id == 1)) return std::nullopt;
  TunedChoice choice{&*found, 0};
  if (words.size() == 2) {
    const auto segment = number_of(words[1]);
    if (!segment) return std::nullopt;
    choice.segment = *segment;
  }
  return choice;
}

/// Moves the start of ranges whose algorithm needs as many elements as ranks.
Ranges guarded(const Ranges& ranges, int ranks) {
  const Bytes least = ranks * widest_element;
  Ranges result;
  const auto add = [&](Range<TunedChoice> range) {
    if (!result.empty() && result.back().from == range.from) result.pop_back();
    if (result.empty() || result.back().choice != range.choice) result.push_back(range);
  };
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool low = ranges[i].choice && ranges[i].choice->algorithm->needs_count && ranges[i].from < least;
    if (!low) {
      add(ranges[i]);
      continue;
    }
    add({ranges[i].from, std::nullopt});
    if (i + 1 == ranges.size() || ranges[i + 1].from > least) add({least, ranges[i].choice});
  }
  return result;
}

struct Team {
  int ranks = 0;
  Ranges ranges{};
};

std::vector<Team> teams_of(const Table& table, const ExportOptions& options, bool json,
                           std::vector<std::string>& notes) {
  std::vector<Team> teams;
  bool unsafe = false;
  for (const KeyedRules* entry : choose_tables(table, options, false, notes)) {
    const auto choose = [&](const Rule& rule) { return tuned_choice(rule, options, json); };
    teams.push_back(
        {entry->key.ranks, guarded(ranges_of<TunedChoice>(*entry, choose, own_decision, notes), entry->key.ranks)});
    for (const auto& range : teams.back().ranges)
      unsafe = unsafe || (range.choice && !range.choice->algorithm->any_operation);
  }
  if (unsafe)
    notes.emplace_back(
        "ring and segmented_ring are wrong for non-commutative operations, and Open MPI does not check that: "
        "use --safe-noncommutative if an application has such");
  return teams;
}

/// One communicator size of the classic text.
std::string size_text(int ranks, const Ranges& ranges, std::string_view what) {
  std::string text = std::to_string(ranks) + "  # ranks" + std::string(what) + "\n" + std::to_string(ranges.size()) +
                     "  # rules: from bytes, algorithm, (unused), segment bytes\n";
  for (const auto& range : ranges) {
    const int id = range.choice ? range.choice->algorithm->id : 0;
    const Bytes segment = range.choice ? range.choice->segment : 0;
    text += std::to_string(range.from) + " " + std::to_string(id) + " 0 " + std::to_string(segment) + "  # " +
            (range.choice ? std::string(range.choice->algorithm->name) : "built-in decision") + "\n";
  }
  return text;
}

Json rule_json(const Ranges& ranges, std::size_t i) {
  const TunedChoice& choice = *ranges[i].choice;
  Json rule{{"msg_size_min", ranges[i].from}};
  if (i + 1 < ranges.size()) rule["msg_size_max"] = ranges[i + 1].from - 1;
  rule["alg"] = choice.algorithm->name;
  if (choice.segment > 0) rule["seg_size"] = choice.segment;
  return rule;
}

}  // namespace

Exported to_openmpi(const Table& table, const ExportOptions& options) {
  Exported exported;
  const auto teams = teams_of(table, options, false, exported.notes);
  // The last entry not above the communicator's size holds, and below the first entry the first one does: entries
  // with the built-in decision on both sides keep the rules to the sizes that were measured.
  const Ranges built_in{{0, std::nullopt}};
  std::vector<std::string> entries;
  int next = 2;
  for (const Team& team : teams) {
    if (team.ranks > next) entries.push_back(size_text(next, built_in, " and more: not measured"));
    entries.push_back(size_text(team.ranks, team.ranges, ""));
    next = team.ranks + 1;
  }
  entries.push_back(size_text(next, built_in, " and more: not measured"));
  exported.text = "# Open MPI 4.1 and 5.0 (coll/tuned), written by attune export: " + origin_of(table) +
                  "\n# mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename THIS_FILE\n"
                  "1  # collective\n2  # allreduce\n" +
                  std::to_string(entries.size()) + "  # sizes of communicators\n";
  for (const auto& entry : entries) exported.text += entry;
  return exported;
}

Exported to_openmpi_json(const Table& table, const ExportOptions& options) {
  Exported exported;
  Json rules = Json::array();
  for (const Team& team : teams_of(table, options, true, exported.notes)) {
    Json messages = Json::array();
    for (std::size_t i = 0; i < team.ranges.size(); ++i)
      if (team.ranges[i].choice) messages.push_back(rule_json(team.ranges, i));
    if (messages.empty()) continue;
    rules.push_back({{"comm_size_min", team.ranks},
                     {"comm_size_max", team.ranks},
                     {"comm_rank_distribution", "single-node"},
                     {"rules", messages}});
  }
  const Json file{{"rule_file_version", 3}, {"module", "tuned"}, {"collectives", {{"allreduce", rules}}}};
  exported.text = file.dump(2) + "\n";
  return exported;
}

}  // namespace attune::tuner::exports
