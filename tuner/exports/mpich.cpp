/// MPICH's generic collective selection. Its file replaces the built-in trees of ALL collectives, and MPICH ends the
/// program when a collective finds no answer: the other trees, and allreduce's own where a table says nothing, are
/// taken from a base, which every libmpich.so holds as a text.
#include <algorithm>
#include <limits>

#include "dispatch/json.h"
#include "tuner/exports/choices.h"

namespace attune::tuner::exports {
namespace {

constexpr std::string_view collective_key = "collective=allreduce";
constexpr std::string_view prefix = "vendor:mpich/";
constexpr std::string_view family = "algorithm=MPIR_Allreduce_intra_";
constexpr Bytes largest = std::numeric_limits<std::int32_t>::max();  // MPICH reads sizes as int
constexpr std::size_t page = 4096;

enum class Restriction : std::uint8_t { none, commutative, built_in_and_long };
struct MpichAlgorithm {
  std::string_view name;
  Restriction restriction;
};
constexpr std::array<MpichAlgorithm, 8> mpich_algorithms{{{"recursive_doubling", Restriction::none},
                                                          {"reduce_scatter_allgather", Restriction::built_in_and_long},
                                                          {"smp", Restriction::commutative},
                                                          {"tree", Restriction::commutative},
                                                          {"recexch", Restriction::none},
                                                          {"ring", Restriction::commutative},
                                                          {"k_reduce_scatter_allgather", Restriction::commutative},
                                                          {"recursive_multiplying", Restriction::commutative}}};

struct MpichChoice {
  const MpichAlgorithm* algorithm = nullptr;
  std::vector<std::string> parameters{};  ///< "k=4"
  bool operator==(const MpichChoice&) const = default;
};

std::optional<MpichChoice> mpich_choice(const Rule& rule) {
  const auto words = words_behind(rule.plan.variant, prefix);
  if (words.empty()) return std::nullopt;
  const auto found = std::ranges::find(mpich_algorithms, words[0], &MpichAlgorithm::name);
  if (found == mpich_algorithms.end()) return std::nullopt;
  MpichChoice choice{&*found, {}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
    choice.parameters.emplace_back(words[i]);
  }
  return choice;
}

Json leaf(std::string_view name, const std::vector<std::string>& parameters) {
  Json values = Json::object();
  for (const auto& parameter : parameters) values[parameter] = Json::object();
  return Json{{std::string(family) + std::string(name), values}};
}

/// The choice where MPICH allows it, `otherwise` where not.
Json tree_of(const MpichChoice& choice, const Json& otherwise) {
  const Json chosen = leaf(choice.algorithm->name, choice.parameters);
  const Json doubling = leaf("recursive_doubling", {});
  switch (choice.algorithm->restriction) {
    case Restriction::commutative:
      return {{"is_commutative=yes", chosen}, {"is_commutative=no", otherwise}};
    case Restriction::built_in_and_long:
      return {{"is_op_built_in=yes", {{"count<pow2", doubling}, {"count=any", chosen}}},
              {"is_op_built_in=no", doubling}};
    case Restriction::none:
      break;
  }
  return chosen;
}

Json sizes_tree(const std::vector<Range<MpichChoice>>& ranges, const Json& otherwise) {
  Json tree = Json::object();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool last = i + 1 == ranges.size() || ranges[i + 1].from > largest;
    const std::string when = last ? "avg_msg_size=any" : "avg_msg_size<" + std::to_string(ranges[i + 1].from);
    tree[when] = ranges[i].choice ? tree_of(*ranges[i].choice, otherwise) : otherwise;
    if (last) break;
  }
  return tree;
}

[[noreturn]] void no_base(const std::string& name, const std::string& fault) {
  throw Error(Status::usage, "mpich: " + name + (name.empty() ? "" : ": ") + fault,
              "MPICH's file replaces its trees for all collectives: give --base libmpich.so (of the MPICH that will "
              "read the file) or its maint/tuning/coll/mpir/generic.json");
}

bool is_generic(const Json& json) {
  return json.is_object() && json.contains(collective_key) && json.contains("collective=bcast") &&
         json[collective_key].dump().find("MPIR_Allreduce_") != std::string::npos;
}

/// A JSON file is the base itself; a library holds it as a text.
Json base_of(const ExportOptions& options) {
  if (options.base.empty()) no_base("", "no base");
  const std::string_view bytes = options.base;
  const auto first = bytes.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && bytes[first] == '{') {
    Json json = parse_json(bytes, options.base_name);
    if (!is_generic(json)) no_base(options.base_name, "no generic selection: it has no tree for allreduce and bcast");
    return json;
  }
  constexpr std::string_view begin = R"({"collective=)";
  for (auto at = bytes.find(begin); at != std::string_view::npos; at = bytes.find(begin, at + 1)) {
    const std::string_view text = bytes.substr(at, bytes.find('\0', at) - at);
    Json json = Json::parse(text, nullptr, false);
    if (is_generic(json)) return json;
  }
  no_base(options.base_name, "neither JSON nor a library of MPICH 4.0 or later");
}

}  // namespace

Exported to_mpich(const Table& table, const ExportOptions& options) {
  Exported exported;
  Json file = base_of(options);
  const Json before = file[collective_key];
  const Json otherwise = before.contains("comm_type=intra") ? before["comm_type=intra"] : before;
  Json sizes = Json::object();
  int next = 2;
  for (const KeyedRules* entry : choose_tables(table, options, false, exported.notes)) {
    const int ranks = entry->key.ranks;
    if (ranks > next) sizes["comm_size<" + std::to_string(ranks)] = otherwise;
    sizes["comm_size<=" + std::to_string(ranks)] =
        sizes_tree(ranges_of<MpichChoice>(*entry, mpich_choice, "MPICH's own tree", exported.notes), otherwise);
    next = ranks + 1;
  }
  sizes["comm_size=any"] = otherwise;
  Json tree{{"comm_type=intra", sizes}};
  tree["comm_type=inter"] = before.contains("comm_type=inter")
                                ? before["comm_type=inter"]
                                : Json{{"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast", Json::object()}};
  file[collective_key] = tree;
  exported.text = file.dump(1) + "\n";
  // MPICH maps the file and reads it as a text without end: a last page that is full would have none.
  if (exported.text.size() % page == 0) exported.text += "\n";
  exported.notes.emplace_back(
      "use: MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=FILE; within one node MPICH asks its shared-memory layer first, "
      "so set MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM=mpir too");
  return exported;
}

}  // namespace attune::tuner::exports
