#include "dispatch/table.h"

#include <algorithm>

namespace attune {
namespace {

/// FNV-1a, 64 bits, over values in a fixed byte order.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char letter : text) step(static_cast<unsigned char>(letter));
    step(0);
  }
  void add(std::int64_t value) {
    for (int byte = 0; byte < 8; ++byte)
      step(static_cast<unsigned char>(static_cast<std::uint64_t>(value) >> (8 * byte)));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void step(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace

TableKey key_of(const Problem& problem, Numerics numerics) {
  return {.collective = problem.collective,
          .dtype = problem.dtype,
          .op = problem.op,
          .ranks = problem.ranks,
          .placement = problem.placement,
          .memory = problem.memory,
          .launch_mode = problem.launch_mode,
          .numerics = numerics,
          .cols = is_fused(problem.collective) ? problem.cols : 0,
          .epilogue = problem.epilogue};
}

std::string to_string(const TableKey& key) {
  std::string text;
  for (const std::string_view word : {name_of(key.collective), name_of(key.dtype), name_of(key.op)})
    text += std::string(word) + " ";
  text += "ranks=" + std::to_string(key.ranks);
  for (const std::string_view word :
       {name_of(key.placement), name_of(key.memory), name_of(key.launch_mode), name_of(key.numerics)})
    text += " " + std::string(word);
  if (key.cols != 0) text += " cols=" + std::to_string(key.cols);
  if (key.epilogue != EpilogueKind::none) text += " epilogue=" + std::string(name_of(key.epilogue));
  return text;
}

const Rule& KeyedRules::rule_at(Bytes bytes) const {
  const auto above = std::ranges::upper_bound(rules, bytes, {}, &Rule::min_bytes);
  return above == rules.begin() ? rules.front() : *std::prev(above);
}

std::uint64_t decision_hash(const Table& table) {
  std::vector<const KeyedRules*> sorted;
  for (const KeyedRules& entry : table.tables) sorted.push_back(&entry);
  std::ranges::sort(sorted, {}, [](const KeyedRules* entry) { return entry->key; });
  Hash hash;
  for (const KeyedRules* entry : sorted) {
    hash.add(to_string(entry->key));
    hash.add(static_cast<std::int64_t>(entry->rules.size()));
    for (const Rule& rule : entry->rules) {
      hash.add(rule.min_bytes);
      hash.add(rule.plan.variant);
      hash.add(rule.plan.blocks);
      hash.add(rule.plan.threads);
      hash.add(rule.plan.chunk_bytes);
    }
  }
  return hash.value();
}

}  // namespace attune
