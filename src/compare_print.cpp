#include "src/compare_print.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "src/units.h"

namespace attune::driver {

namespace {

/// The columns that print_cells writes.
constexpr const char* row_format = "{:>12} | {:>10} | {:>10} | {:<30} | {}\n";

std::string time_text(double time_us) { return fmt::format("{:.2f}", time_us); }

/// "96.7 [93.1, 100.4] =" in per cent; a ratio without an interval ends in "?".
std::string ratio_text(const tuner::ComparedCell& cell) {
  std::string text = fmt::format("{:.1f}", cell.ratio.ratio * 100);
  if (cell.ratio.ci) text += fmt::format(" [{:.1f}, {:.1f}]", cell.ratio.ci->low * 100, cell.ratio.ci->high * 100);
  if (cell.verdict == tuner::Verdict::equal) text += " =";
  if (cell.verdict == tuner::Verdict::unsure) text += " ?";
  return text;
}

std::string plans_text(const tuner::ComparedCell& cell) {
  const std::string after = to_string(cell.new_plan);
  return cell.old_plan == cell.new_plan ? after : to_string(cell.old_plan) + " -> " + after;
}

/// The key without the numerics class, which is no part of a measurement.
std::string heading_of(const TableKey& key) {
  const std::string text = to_string(key);
  const std::string tail(name_of(key.numerics));
  const std::size_t at = text.find(" " + tail);
  return at == std::string::npos ? text : text.substr(0, at) + text.substr(at + 1 + tail.size());
}

std::string range_of(const tuner::RuleChange& change) {
  return fmt::format("{} to {}", format_bytes(change.from), change.to ? "below " + format_bytes(*change.to) : "any");
}

std::string rule_text(const std::optional<Rule>& rule) {
  if (!rule) return "no rule";
  std::string text = to_string(rule->plan);
  if (rule->time_us > 0 && rule->at_bytes > 0)
    text += fmt::format(", {:.2f} us at {}", rule->time_us, format_bytes(rule->at_bytes));
  return text;
}

std::string meaning_of(const tuner::RuleChange& change) {
  if (!change.ratio) return "time: the tables do not tell (--run RUN measures both)";
  std::string text = fmt::format("time: {:.1f} % of the old one's", *change.ratio * 100);
  if (change.ci) {
    text += fmt::format(" [{:.1f}, {:.1f}]", change.ci->low * 100, change.ci->high * 100);
    if (change.ci->contains(1)) text += " =";
  }
  if (change.via_vendor) text += ", each relative to the vendor at its own size, without an interval";
  return text;
}

Json interval_json(const std::optional<tuner::Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json();
}

Json time_json(const tuner::CellTime& time) {
  return {{"median_us", time.median_us},
          {"ci_us", interval_json(time.ci_us)},
          {"samples", time.samples},
          {"launches", time.launches}};
}

Json rule_json(const std::optional<Rule>& rule) {
  if (!rule) return {};
  Json json = to_json(rule->plan);
  json["time_us"] = rule->time_us;
  json["at_bytes"] = rule->at_bytes;
  json["vendor_us"] = rule->vendor_us;
  return json;
}

}  // namespace

std::string shape_of(const Problem& problem) {
  return problem.cols > 0 ? fmt::format("{}x{}", problem.rows, problem.cols) : format_bytes(problem.bytes());
}

void print_cells(const std::vector<tuner::ComparedCell>& cells) {
  const TableKey* heading = nullptr;
  for (const auto& cell : cells) {
    if (heading == nullptr || *heading != cell.key) {
      fmt::print("\n{}\n", heading_of(cell.key));
      fmt::print(row_format, "shape", "old (us)", "new (us)", "ratio (%)", "plan");
    }
    heading = &cell.key;
    fmt::print(row_format, shape_of(cell.problem), time_text(cell.old_time.median_us),
               time_text(cell.new_time.median_us), ratio_text(cell), plans_text(cell));
  }
}

void print_counts(const tuner::ComparedRuns& compared) {
  std::array<int, 4> counts{};
  for (const auto& cell : compared.cells) ++counts[static_cast<std::size_t>(cell.verdict)];
  fmt::print("\n{} faster, {} slower, {} equal within the noise (=), {} without an interval (?)", counts[0], counts[1],
             counts[2], counts[3]);
  if (compared.only_old + compared.only_new > 0)
    fmt::print("; only in old: {}, only in new: {}", compared.only_old, compared.only_new);
  fmt::print("\n");
}

void print_changes(const std::vector<tuner::RuleChange>& changes) {
  const TableKey* heading = nullptr;
  for (const auto& change : changes) {
    if (heading == nullptr || *heading != change.key) fmt::print("\n{}\n", to_string(change.key));
    heading = &change.key;
    fmt::print("  {}\n    old  {}\n    new  {}\n", range_of(change), rule_text(change.old_rule),
               rule_text(change.new_rule));
    if (change.old_rule && change.new_rule && change.measured.empty()) fmt::print("    {}\n", meaning_of(change));
    for (const auto& cell : change.measured)
      fmt::print("    measured {:>8} | {:>10} | {:>10} | {}\n", shape_of(cell.problem),
                 time_text(cell.old_time.median_us), time_text(cell.new_time.median_us), ratio_text(cell));
  }
  fmt::print("{}{} ranges changed\n", changes.empty() ? "" : "\n", changes.size());
}

Json cells_json(const std::vector<tuner::ComparedCell>& cells) {
  Json list = Json::array();
  for (const auto& cell : cells)
    list.push_back({{"problem", to_json(cell.problem)},
                    {"bytes", cell.problem.bytes()},
                    {"old_plan", to_json(cell.old_plan)},
                    {"new_plan", to_json(cell.new_plan)},
                    {"old", time_json(cell.old_time)},
                    {"new", time_json(cell.new_time)},
                    {"ratio", cell.ratio.ratio},
                    {"ci", interval_json(cell.ratio.ci)},
                    {"paired", cell.paired},
                    {"verdict", name_of(cell.verdict)}});
  return list;
}

Json changes_json(const std::vector<tuner::RuleChange>& changes) {
  Json list = Json::array();
  for (const auto& change : changes)
    list.push_back({{"key", to_string(change.key)},
                    {"from", change.from},
                    {"to", change.to ? Json(*change.to) : Json()},
                    {"old", rule_json(change.old_rule)},
                    {"new", rule_json(change.new_rule)},
                    {"ratio", change.ratio ? Json(*change.ratio) : Json()},
                    {"ci", interval_json(change.ci)},
                    {"via_vendor", change.via_vendor},
                    {"measured", cells_json(change.measured)}});
  return list;
}

}  // namespace attune::driver
