#pragma once
/// The look-up, prepared for one communicator: exact where the table has the key, else by a fixed chain of
/// substitutions, else the built-in default.
///
/// The chain. Collective, ranks and placement are never substituted (another rank count is another machine, and a plan
/// that is right out of place may be wrong in place), and a looser numerics class than the allowed one never is.
/// The other axes may be, the cheaper ones first; of all tables the one with the least sum of these weights answers:
///
///    1  dtype        another of the same width: f16 for bf16, i32 for f32 (same traffic, other arithmetic)
///    2  memory       registered for staged, or the reverse
///    4  launch_mode  eager for graph, or the reverse
///    8  op           sum for any other
///   16  epilogue     none for any other
///   32  numerics     a stricter class than the allowed one (rank_order where per_hop is allowed)
///   64  cols         fused kernels: the nearest row length, by ratio
///
/// Ties go to the dtype that stands nearer in the list of dtypes. Sizes are never a reason to substitute: the first
/// rule begins at 0 and the last one holds for ever.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/table.h"

namespace attune {

/// Axes that had to be substituted; the values are the weights above.
enum class Substituted : std::uint8_t {
  dtype = 1,
  memory = 2,
  launch_mode = 4,
  op = 8,
  epilogue = 16,
  numerics = 32,
  cols = 64
};

/// What a look-up found. Pointers live as long as the dispatcher.
struct Answer {
  const Rule* rule = nullptr;         ///< Never null.
  const KeyedRules* table = nullptr;  ///< Null: the built-in default answered.
  std::uint8_t substituted = 0;       ///< A sum of Substituted.

  [[nodiscard]] const Plan& plan() const { return rule->plan; }
  [[nodiscard]] bool built_in() const { return table == nullptr; }
  [[nodiscard]] bool exact() const { return table != nullptr && substituted == 0; }
};

/// "exact", "dtype f16 for bf16, op sum for max", or "built-in default".
[[nodiscard]] std::string explain(const Answer& answer, const TableKey& asked);

class Dispatcher {
 public:
  /// Takes the tables of `ranks` ranks out of `table`, resolves every key once and keeps the result.
  /// `known` are this build's variants: defaults are made of them.
  Dispatcher(Table table, DeviceKind device, int ranks, Numerics allowed, std::span<const std::string_view> known);

  Dispatcher(Dispatcher&&) noexcept = default;
  Dispatcher& operator=(Dispatcher&&) noexcept = default;
  Dispatcher(const Dispatcher&) = delete;  // answers point into it
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// The plan for a problem of this communicator's rank count (`problem.ranks` is not read). No allocation,
  /// no branch on anything but the problem's fields: the same on every rank. A negative size counts as 0.
  [[nodiscard]] Answer find(const Problem& problem) const noexcept;

  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] Numerics numerics() const noexcept { return allowed_; }
  [[nodiscard]] const Table& table() const noexcept { return table_; }

 private:
  /// A list of rules and its lower bounds apart: the search touches bounds alone.
  struct Prepared {
    const KeyedRules* rules;
    bool built_in;
    std::vector<Bytes> bounds;
  };
  /// What answers one key.
  struct Entry {
    std::uint16_t prepared = 0;
    std::uint8_t substituted = 0;
  };
  [[nodiscard]] std::size_t slot(const TableKey& key, std::size_t group) const noexcept;
  [[nodiscard]] std::size_t group_of(Index cols) const noexcept;
  void prepare(const KeyedRules& rules, bool built_in);
  [[nodiscard]] Entry resolve(const TableKey& asked) const;
  void fill(Collective collective, std::size_t group);

  Table table_;
  int ranks_;
  Numerics allowed_;
  std::vector<KeyedRules> defaults_;  ///< By collective, placement, memory.
  std::vector<Prepared> prepared_;    ///< The defaults, then the table's.
  std::vector<Index> cols_;           ///< Row lengths in the table, ascending; {0} if there are none.
  std::vector<Entry> entries_;        ///< By slot.
};

}  // namespace attune
