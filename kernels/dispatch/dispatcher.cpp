#include "dispatch/dispatcher.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "core/error.h"
#include "dispatch/defaults.h"

namespace attune {
namespace {

template <Named E>
constexpr std::size_t number_of = detail::Names<E>::list.size();

/// Keys of one collective and row length.
constexpr std::size_t keys_per_group = number_of<DType> * number_of<Op> * number_of<Placement> * number_of<Memory> *
                                       number_of<LaunchMode> * number_of<EpilogueKind>;

int weight(Substituted axis) { return static_cast<int>(axis); }

/// What has to be substituted for `have` to answer `asked`, or nothing if it may not.
std::optional<int> substitutions(const TableKey& asked, const TableKey& have) {
  const bool fixed =
      asked.collective == have.collective && asked.ranks == have.ranks && asked.placement == have.placement;
  const bool rounds_alike =
      asked.numerics == have.numerics || (have.numerics != Numerics::vendor && admits(asked.numerics, have.numerics));
  const bool dtype_may = size_of(asked.dtype) == size_of(have.dtype);
  const bool op_may = asked.op == have.op || have.op == Op::sum;
  const bool epilogue_may = asked.epilogue == have.epilogue || have.epilogue == EpilogueKind::none;
  if (!fixed || !rounds_alike || !dtype_may || !op_may || !epilogue_may) return std::nullopt;
  int sum = 0;
  const auto add = [&](bool differs, Substituted axis) { sum += differs ? weight(axis) : 0; };
  add(asked.dtype != have.dtype, Substituted::dtype);
  add(asked.memory != have.memory, Substituted::memory);
  add(asked.launch_mode != have.launch_mode, Substituted::launch_mode);
  add(asked.op != have.op, Substituted::op);
  add(asked.epilogue != have.epilogue, Substituted::epilogue);
  add(asked.numerics != have.numerics, Substituted::numerics);
  add(asked.cols != have.cols, Substituted::cols);
  return sum;
}

/// How far two row lengths are apart: the logarithm of their ratio.
double cols_distance(Index a, Index b) {
  return std::abs(std::log(static_cast<double>(std::max<Index>(a, 1))) -
                  std::log(static_cast<double>(std::max<Index>(b, 1))));
}

/// Orders the tables that may answer a key; the least answers.
struct Rank {
  int substituted = std::numeric_limits<int>::max();
  double cols = 0;
  int dtype = 0;
  int numerics = 0;  ///< The looser class first: it was allowed, and nearer to what was asked.
  auto operator<=>(const Rank&) const = default;
};

}  // namespace

Dispatcher::Dispatcher(Table table, DeviceKind device, int ranks, Numerics allowed,
                       std::span<const std::string_view> known)
    : table_(std::move(table)), ranks_(ranks), allowed_(allowed) {
  constexpr std::size_t most = std::numeric_limits<std::uint16_t>::max() / 2;
  if (table_.tables.size() > most) throw Error(Status::usage, "a dispatch table of more than 32767 tables", "split it");
  for (const Collective collective : all_of<Collective>())
    for (const Placement placement : all_of<Placement>())
      for (const Memory memory : all_of<Memory>())
        defaults_.push_back(
            {{.collective = collective, .ranks = ranks, .placement = placement, .memory = memory, .numerics = allowed},
             allowed == Numerics::vendor ? std::vector<Rule>{Rule{}}
                                         : default_rules(device, collective, placement, memory, ranks, known)});
  for (const KeyedRules& rules : defaults_) prepare(rules, true);
  for (const KeyedRules& rules : table_.tables) {
    if (rules.key.ranks != ranks_) continue;
    prepare(rules, false);
    if (is_fused(rules.key.collective)) cols_.push_back(rules.key.cols);
  }
  std::ranges::sort(cols_);
  cols_.erase(std::unique(cols_.begin(), cols_.end()), cols_.end());
  if (cols_.empty()) cols_.push_back(0);

  entries_.resize(keys_per_group * (1 + (number_of<Collective> - 1) * cols_.size()));
  fill(Collective::allreduce, 0);
  for (const Collective collective : all_of<Collective>())
    for (std::size_t group = 0; is_fused(collective) && group < cols_.size(); ++group) fill(collective, group);
}

void Dispatcher::prepare(const KeyedRules& rules, bool built_in) {
  Prepared prepared{&rules, built_in, {}};
  for (const Rule& rule : rules.rules) prepared.bounds.push_back(rule.min_bytes);
  prepared_.push_back(std::move(prepared));
}

std::size_t Dispatcher::slot(const TableKey& key, std::size_t group) const noexcept {
  const auto number = [](auto value) { return static_cast<std::size_t>(value); };
  std::size_t index = is_fused(key.collective) ? 1 + (number(key.collective) - 1) * cols_.size() + group : 0;
  index = index * number_of<DType> + number(key.dtype);
  index = index * number_of<Op> + number(key.op);
  index = index * number_of<Placement> + number(key.placement);
  index = index * number_of<Memory> + number(key.memory);
  index = index * number_of<LaunchMode> + number(key.launch_mode);
  return index * number_of<EpilogueKind> + number(key.epilogue);
}

std::size_t Dispatcher::group_of(Index cols) const noexcept {
  const auto above = std::ranges::lower_bound(cols_, cols);
  if (above == cols_.begin()) return 0;
  const auto below = std::prev(above);
  if (above == cols_.end()) return static_cast<std::size_t>(below - cols_.begin());
  const bool take_above = static_cast<double>(*above) / static_cast<double>(cols) <=
                          static_cast<double>(cols) / static_cast<double>(std::max<Index>(*below, 1));
  return static_cast<std::size_t>((take_above ? above : below) - cols_.begin());
}

Dispatcher::Entry Dispatcher::resolve(const TableKey& asked) const {
  Rank best;
  std::size_t answer =
      (static_cast<std::size_t>(asked.collective) * number_of<Placement> + static_cast<std::size_t>(asked.placement)) *
          number_of<Memory> +
      static_cast<std::size_t>(asked.memory);
  for (std::size_t i = defaults_.size(); i < prepared_.size(); ++i) {
    const TableKey& have = prepared_[i].rules->key;
    const auto sum = substitutions(asked, have);
    if (!sum) continue;
    const Rank rank{*sum, cols_distance(asked.cols, have.cols),
                    std::abs(static_cast<int>(asked.dtype) - static_cast<int>(have.dtype)),
                    -static_cast<int>(have.numerics)};
    if (rank < best) best = rank, answer = i;
  }
  const bool found = answer >= defaults_.size();
  return {static_cast<std::uint16_t>(answer), static_cast<std::uint8_t>(found ? best.substituted : 0)};
}

void Dispatcher::fill(Collective collective, std::size_t group) {
  for (const DType dtype : all_of<DType>())
    for (const Op op : all_of<Op>())
      for (const Placement placement : all_of<Placement>())
        for (const Memory memory : all_of<Memory>())
          for (const LaunchMode launch_mode : all_of<LaunchMode>())
            for (const EpilogueKind epilogue : all_of<EpilogueKind>()) {
              const TableKey key{collective,  dtype,     op,
                                 ranks_,      placement, memory,
                                 launch_mode, allowed_,  is_fused(collective) ? cols_[group] : 0,
                                 epilogue};
              entries_[slot(key, group)] = resolve(key);
            }
}

Answer Dispatcher::find(const Problem& problem) const noexcept {
  const TableKey key = key_of(problem, allowed_);
  const std::size_t group = is_fused(key.collective) ? group_of(key.cols) : 0;
  const Entry entry = entries_[slot(key, group)];
  const Prepared& prepared = prepared_[entry.prepared];
  const auto above = std::ranges::upper_bound(prepared.bounds, problem.bytes());
  const auto index = std::max<std::ptrdiff_t>(above - prepared.bounds.begin() - 1, 0);
  Answer answer{&prepared.rules->rules[static_cast<std::size_t>(index)], nullptr, entry.substituted};
  if (prepared.built_in) return answer;
  answer.table = prepared.rules;
  if (key.cols != answer.table->key.cols) answer.substituted |= static_cast<std::uint8_t>(Substituted::cols);
  return answer;
}

std::string explain(const Answer& answer, const TableKey& asked) {
  if (answer.built_in()) return "built-in default";
  if (answer.exact()) return "exact";
  const TableKey& have = answer.table->key;
  std::string text;
  const auto add = [&](Substituted axis, std::string_view what, std::string_view used, std::string_view wanted) {
    if ((answer.substituted & weight(axis)) == 0) return;
    text += (text.empty() ? "" : ", ") + std::string(what) + " " + std::string(used) + " for " + std::string(wanted);
  };
  add(Substituted::dtype, "dtype", name_of(have.dtype), name_of(asked.dtype));
  add(Substituted::memory, "memory", name_of(have.memory), name_of(asked.memory));
  add(Substituted::launch_mode, "launch mode", name_of(have.launch_mode), name_of(asked.launch_mode));
  add(Substituted::op, "op", name_of(have.op), name_of(asked.op));
  add(Substituted::epilogue, "epilogue", name_of(have.epilogue), name_of(asked.epilogue));
  add(Substituted::numerics, "numerics", name_of(have.numerics), name_of(asked.numerics));
  add(Substituted::cols, "cols", std::to_string(have.cols), std::to_string(asked.cols));
  return text;
}

}  // namespace attune
