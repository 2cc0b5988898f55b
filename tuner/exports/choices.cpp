#include "tuner/exports/choices.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "core/error.h"

namespace attune::tuner::exports {
namespace {

/// Smaller is likelier to be what other software meets.
auto likelihood(const TableKey& key) {
  return std::tuple(key.op, key.placement, key.memory, key.launch_mode, key.dtype != DType::f32, key.dtype,
                    key.numerics);
}

bool fits(const TableKey& key, const ExportOptions& options) {
  return key.collective == Collective::allreduce && key.epilogue == EpilogueKind::none && key.ranks > 1 &&
         (!options.dtype || key.dtype == *options.dtype) && (!options.op || key.op == *options.op) &&
         (!options.placement || key.placement == *options.placement) &&
         (!options.memory || key.memory == *options.memory);
}

bool same_plans(const KeyedRules& a, const KeyedRules& b) {
  return std::ranges::equal(a.rules, b.rules, [](const Rule& left, const Rule& right) {
    return left.min_bytes == right.min_bytes && left.plan == right.plan;
  });
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

std::vector<const KeyedRules*> choose_tables(const Table& table, const ExportOptions& options, bool per_memory,
                                             std::vector<std::string>& notes) {
  using Place = std::pair<int, std::optional<Memory>>;
  std::map<Place, std::vector<const KeyedRules*>> found;
  for (const KeyedRules& entry : table.tables)
    if (fits(entry.key, options))
      found[{entry.key.ranks, per_memory ? std::optional(entry.key.memory) : std::nullopt}].push_back(&entry);
  if (found.empty())
    throw Error(Status::usage, "no table of a plain allreduce of 2 ranks or more fits",
                "see the keys in the table, and --dtype, --op, --placement, --memory");
  std::vector<const KeyedRules*> chosen;
  for (auto& [place, entries] : found) {
    const KeyedRules* best = *std::ranges::min_element(
        entries, [](const auto* a, const auto* b) { return likelihood(a->key) < likelihood(b->key); });
    const auto others = std::ranges::count_if(entries, [&](const auto* entry) { return !same_plans(*entry, *best); });
    if (others > 0)
      notes.push_back("taken: " + to_string(best->key) + "; left out: " + std::to_string(others) +
                      " other tables of these ranks (--dtype, --op, --placement, --memory choose)");
    chosen.push_back(best);
  }
  return chosen;
}

void note_lost(const KeyedRules& rules, const std::set<std::string>& lost, std::size_t count, std::string_view software,
               std::vector<std::string>& notes) {
  if (count == 0) return;
  notes.push_back("ranks " + std::to_string(rules.key.ranks) + ": " + std::to_string(count) + " of " +
                  std::to_string(rules.rules.size()) + " rules (" + joined(lost) +
                  ") cannot be said in this format: left to " + std::string(software));
}

std::vector<std::string_view> words_behind(std::string_view variant, std::string_view prefix) {
  std::vector<std::string_view> words;
  if (!variant.starts_with(prefix)) return words;
  variant.remove_prefix(prefix.size());
  for (std::size_t from = 0; from <= variant.size();) {
    const std::size_t slash = std::min(variant.find('/', from), variant.size());
    words.push_back(variant.substr(from, slash - from));
    from = slash + 1;
  }
  return words;
}

std::optional<Bytes> number_of(std::string_view digits) {
  Bytes value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc{} || end != digits.data() + digits.size() || value <= 0) return std::nullopt;
  return value;
}

std::string origin_of(const Table& table) {
  std::string text = table.hardware.fingerprint;
  if (!table.source.run.empty()) text += ", run " + table.source.run;
  if (!table.source.created.empty()) text += ", " + table.source.created;
  if (!table.software.vendor.empty()) text += ", " + table.software.vendor;
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

std::optional<NcclChoice> nccl_choice(const Plan& plan) {
  const auto words = words_behind(plan.variant, "vendor:nccl/");
  if (words.size() < 2 || words.size() > 3) return std::nullopt;
  const auto algorithm = std::ranges::find(nccl_algorithms, words[0]);
  const auto protocol = std::ranges::find(nccl_protocols, words[1]);
  if (algorithm == nccl_algorithms.end() || protocol == nccl_protocols.end()) return std::nullopt;
  NcclChoice choice{static_cast<int>(algorithm - nccl_algorithms.begin()),
                    static_cast<int>(protocol - nccl_protocols.begin()), plan.blocks > 1 ? plan.blocks : 0};
  if (words.size() == 3) {
    const auto channels = number_of(words[2]);
    if (!channels || *channels > 1024) return std::nullopt;
    choice.channels = static_cast<int>(*channels);
  }
  return choice;
}

}  // namespace attune::tuner::exports

namespace attune::tuner {

std::string_view exportable_prefix(ExportFormat format) {
  constexpr std::array<std::string_view, 6> prefixes{"vendor:openmpi/", "vendor:openmpi/", "vendor:mpich/",
                                                     "vendor:ucc/",     "vendor:nccl/",    "vendor:nccl/"};
  return prefixes[static_cast<std::size_t>(format)];
}

Exported export_table(const Table& table, ExportFormat format, const ExportOptions& options) {
  constexpr std::array exporters{&exports::to_openmpi, &exports::to_openmpi_json, &exports::to_mpich,
                                 &exports::to_ucc,     &exports::to_nccl_csv,     &exports::to_nccl_optimize_csv};
  return exporters[static_cast<std::size_t>(format)](table, options);
}

}  // namespace attune::tuner
