// The look-up: exact keys, the chain of substitutions in its order, and what is never substituted.
#include "dispatch/dispatcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

/// Calls of operator new so far (count_allocations.cpp).
long count_allocations();

namespace attune {
namespace {

constexpr std::array<std::string_view, 5> known{"mesh", "push", "two_shot", "two_shot_write",
                                                "reduce_scatter_rms_norm"};

KeyedRules rules(TableKey key, const std::string& variant) {
  return {
      key,
      {{.min_bytes = 0, .plan = {.variant = variant}}, {.min_bytes = 1000, .plan = {.variant = variant, .blocks = 2}}}};
}

Dispatcher dispatcher(std::vector<KeyedRules> tables, int ranks = 2, Numerics allowed = Numerics::rank_order) {
  Table table;
  table.tables = std::move(tables);
  return {std::move(table), DeviceKind::host, ranks, allowed, known};
}

std::string answer(const Dispatcher& from, const Problem& problem) {
  const Answer found = from.find(problem);
  return found.plan().variant + ": " + explain(found, key_of(problem, from.numerics()));
}

static_assert(noexcept(std::declval<const Dispatcher&>().find(Problem{})));

TEST(Dispatcher, AnswersExactlyAndAtTheBoundaries) {
  const auto from = dispatcher({rules({}, "a")});
  Problem problem{.dtype = DType::f32, .count = 249, .ranks = 2};
  EXPECT_EQ(answer(from, problem), "a: exact");
  EXPECT_EQ(from.find(problem).plan().blocks, 1);
  problem.count = 250;
  EXPECT_EQ(from.find(problem).plan().blocks, 2);
  problem.count = Index{1} << 60;
  EXPECT_EQ(from.find(problem).plan().blocks, 2);
  problem.count = 0;
  EXPECT_EQ(from.find(problem).plan().blocks, 1);
  problem.count = -5;
  EXPECT_EQ(from.find(problem).plan().blocks, 1);
}

TEST(Dispatcher, NeverSubstitutesRanksPlacementCollectiveOrWidth) {
  const auto built_in = [](TableKey key) { return answer(dispatcher({rules(key, "a")}), Problem{.ranks = 2}); };
  EXPECT_EQ(built_in({}), "a: exact");
  EXPECT_EQ(built_in({.ranks = 3}), "push: built-in default");
  EXPECT_EQ(built_in({.placement = Placement::in_place}), "push: built-in default");
  EXPECT_EQ(built_in({.dtype = DType::f64}), "push: built-in default");
  EXPECT_EQ(built_in({.collective = Collective::allreduce_rms_norm, .cols = 8}), "push: built-in default");
  EXPECT_EQ(built_in({.op = Op::max}), "push: built-in default");
  EXPECT_EQ(built_in({.epilogue = EpilogueKind::relu}), "push: built-in default");
  EXPECT_EQ(built_in({.numerics = Numerics::per_hop}), "push: built-in default");
}

TEST(Dispatcher, SubstitutesInTheDocumentedOrder) {
  const Problem asked{.dtype = DType::bf16,
                      .op = Op::max,
                      .count = 4,
                      .ranks = 2,
                      .memory = Memory::staged,
                      .launch_mode = LaunchMode::graph,
                      .epilogue = EpilogueKind::relu};
  const TableKey exact = key_of(asked, Numerics::rank_order);
  const auto with = [&](auto change) {
    TableKey key = exact;
    change(key);
    return key;
  };
  // From dear to cheap: each answers until the next cheaper one is there.
  const std::vector<std::pair<TableKey, std::string>> chain{
      {with([](TableKey& key) {
         key.epilogue = EpilogueKind::none;
         key.op = Op::sum;
       }),
       "op sum for max, epilogue none for relu"},
      {with([](TableKey& key) { key.epilogue = EpilogueKind::none; }), "epilogue none for relu"},
      {with([](TableKey& key) {
         key.op = Op::sum;
         key.dtype = DType::f16;
       }),
       "dtype f16 for bf16, op sum for max"},
      {with([](TableKey& key) { key.op = Op::sum; }), "op sum for max"},
      {with([](TableKey& key) { key.launch_mode = LaunchMode::eager; }), "launch mode eager for graph"},
      {with([](TableKey& key) { key.memory = Memory::registered; }), "memory registered for staged"},
      {with([](TableKey& key) { key.dtype = DType::f16; }), "dtype f16 for bf16"},
      {exact, "exact"}};
  std::vector<KeyedRules> tables;
  for (const auto& [key, text] : chain) {
    tables.insert(tables.begin(), rules(key, "v" + std::to_string(tables.size())));
    EXPECT_EQ(answer(dispatcher(tables), asked), "v" + std::to_string(tables.size() - 1) + ": " + text);
  }
}

TEST(Dispatcher, AStricterClassAnswersALooserOneNeverTheReverse) {
  const auto strict = rules({.numerics = Numerics::rank_order}, "strict");
  const auto loose = rules({.numerics = Numerics::per_hop}, "loose");
  const Problem asked{.ranks = 2};
  EXPECT_EQ(answer(dispatcher({strict}, 2, Numerics::per_hop), asked), "strict: numerics rank_order for per_hop");
  EXPECT_EQ(answer(dispatcher({strict, loose}, 2, Numerics::per_hop), asked), "loose: exact");
  EXPECT_EQ(answer(dispatcher({strict, loose}, 2, Numerics::in_switch), asked),
            "loose: numerics per_hop for in_switch");
  EXPECT_EQ(answer(dispatcher({loose}, 2, Numerics::rank_order), asked), "push: built-in default");
  EXPECT_EQ(answer(dispatcher({strict}, 2, Numerics::vendor), asked), "vendor: built-in default");
}

TEST(Dispatcher, FusedKernelsTakeTheNearestRowLength) {
  const auto at = [](Index cols) {
    return rules({.collective = Collective::reduce_scatter_rms_norm, .dtype = DType::bf16, .cols = cols},
                 "c" + std::to_string(cols));
  };
  const auto from = dispatcher({at(7168), at(1024), at(4096)});
  const auto asked = [](Index cols) {
    return Problem{.collective = Collective::reduce_scatter_rms_norm,
                   .dtype = DType::bf16,
                   .count = 8 * cols,
                   .rows = 8,
                   .cols = cols,
                   .ranks = 2};
  };
  EXPECT_EQ(answer(from, asked(4096)), "c4096: exact");
  EXPECT_EQ(answer(from, asked(5120)), "c4096: cols 4096 for 5120");
  EXPECT_EQ(answer(from, asked(5632)), "c7168: cols 7168 for 5632");
  EXPECT_EQ(answer(from, asked(1)), "c1024: cols 1024 for 1");
  EXPECT_EQ(answer(from, asked(100000)), "c7168: cols 7168 for 100000");
  Problem other = asked(4096);
  other.collective = Collective::allreduce_rms_norm;
  EXPECT_EQ(answer(from, other), "vendor: built-in default");
  EXPECT_EQ(answer(dispatcher({}), asked(64)), "reduce_scatter_rms_norm: built-in default");
}

TEST(Dispatcher, BuiltInDefaultsUseKnownVariantsOnly) {
  const auto choose = [](std::span<const std::string_view> build, Index count, Placement placement, DeviceKind device) {
    const Dispatcher from(Table{}, device, 4, Numerics::rank_order, build);
    return from.find(Problem{.count = count, .ranks = 4, .placement = placement}).plan();
  };
  constexpr std::array<std::string_view, 2> early{"mesh", "two_shot_write"};
  constexpr auto out = Placement::out_of_place;
  EXPECT_EQ(choose(known, 32, out, DeviceKind::host).variant, "push");
  EXPECT_EQ(choose(known, 33, out, DeviceKind::host).variant, "mesh");
  EXPECT_EQ(choose(known, 33, Placement::in_place, DeviceKind::host).variant, "two_shot_write");
  EXPECT_EQ(choose(known, 1024, out, DeviceKind::host).variant, "two_shot_write");
  EXPECT_EQ(choose(early, 512, out, DeviceKind::host).variant, "mesh");
  EXPECT_EQ(choose(early, 512, Placement::in_place, DeviceKind::host).variant, "two_shot_write");
  EXPECT_EQ(choose({}, 512, out, DeviceKind::host), Plan{});
  EXPECT_EQ(choose(known, 512, out, DeviceKind::cuda), (Plan{.variant = "mesh", .blocks = 36, .threads = 512}));
  EXPECT_EQ(choose(known, 131072, out, DeviceKind::cuda).variant, "two_shot");
  EXPECT_EQ(choose(known, 4 << 20, out, DeviceKind::cuda), Plan{});
  for (const int ranks : {2, 3, 8})
    for (const Placement placement : all_of<Placement>())
      for (const DeviceKind device : all_of<DeviceKind>()) {
        const Dispatcher from(Table{}, device, ranks, Numerics::rank_order, known);
        for (Index count = 0; count < (Index{1} << 32); count = 2 * count + 1)
          EXPECT_GE(from.find(Problem{.count = count, .placement = placement}).plan().blocks, 1);
      }
}

TEST(Dispatcher, BuiltInDefaultsKnowTheKindOfMemory) {
  constexpr std::array<std::string_view, 4> variants{"mesh", "push", "staged_two_shot", "two_shot_write"};
  const auto choose = [&](int ranks, Bytes bytes, Memory memory) {
    const Dispatcher from(Table{}, DeviceKind::host, ranks, Numerics::rank_order, variants);
    return from.find(Problem{.count = bytes / 4, .ranks = ranks, .memory = memory}).plan().variant;
  };
  constexpr Bytes KiB = 1024;
  EXPECT_EQ(choose(2, 16 * KiB - 4, Memory::staged), "push");
  EXPECT_EQ(choose(2, 16 * KiB, Memory::staged), "staged_two_shot");
  EXPECT_EQ(choose(3, 4 * KiB - 4, Memory::staged), "push") << "a message goes to more peers";
  EXPECT_EQ(choose(3, 4 * KiB, Memory::staged), "staged_two_shot");
  EXPECT_EQ(choose(2, 508, Memory::registered), "push");
  EXPECT_EQ(choose(2, 512, Memory::registered), "mesh");
  EXPECT_EQ(choose(2, 2 * KiB, Memory::registered), "two_shot_write");
  EXPECT_EQ(choose(3, 132, Memory::registered), "mesh");
  EXPECT_EQ(choose(2, 4096 * KiB, Memory::registered), "two_shot_write");
  EXPECT_EQ(choose(2, 4096 * KiB, Memory::staged), "staged_two_shot");
}

/// A team of several domains knows two levels, and takes them for large messages that peers can address.
TEST(Dispatcher, BuiltInDefaultsTakeTwoLevelsWhereTheyAreKnown) {
  constexpr std::array<std::string_view, 4> names{"push", "staged_two_shot", "two_shot_write", "two_level"};
  const auto choose = [](std::span<const std::string_view> build, Bytes bytes, Memory memory, Placement placement) {
    const Dispatcher from(Table{}, DeviceKind::host, 4, Numerics::rank_order, build);
    return from.find(Problem{.count = bytes / 4, .ranks = 4, .placement = placement, .memory = memory}).plan().variant;
  };
  constexpr Bytes MiB = 1 << 20;
  for (const Placement placement : all_of<Placement>()) {
    EXPECT_EQ(choose(names, MiB - 4, Memory::registered, placement), "two_shot_write");
    EXPECT_EQ(choose(names, MiB, Memory::registered, placement), "two_level");
    EXPECT_EQ(choose(names, 64 * MiB, Memory::staged, placement), "staged_two_shot");
    EXPECT_EQ(choose(std::span(names).first(3), 64 * MiB, Memory::registered, placement), "two_shot_write");
  }
}

TEST(Dispatcher, ALookUpDoesNotAllocate) {
  const auto from = dispatcher({rules({}, "a_variant_name_beyond_the_small_string_buffer")});
  const long before = count_allocations();
  for (Index count = 0; count < 1000; ++count) {
    const Answer found = from.find(Problem{.count = count, .ranks = 2});
    ASSERT_NE(found.rule, nullptr);
  }
  EXPECT_EQ(count_allocations(), before);
}

TEST(Dispatcher, MovingKeepsItsAnswers) {
  auto first = dispatcher({rules({}, "a")});
  const Dispatcher second = std::move(first);
  EXPECT_EQ(answer(second, Problem{.ranks = 2}), "a: exact");
  EXPECT_EQ(answer(second, Problem{.ranks = 2, .placement = Placement::in_place}), "push: built-in default");
}

/// Random tables and problems: whatever answers is admissible, and an exact table is never passed over.
TEST(Dispatcher, RandomTablesAreAnsweredSoundly) {
  std::mt19937 random(7);
  const auto pick = [&](auto values) { return values[random() % values.size()]; };
  const auto random_key = [&] {
    return TableKey{.dtype = pick(all_of<DType>()),
                    .op = pick(all_of<Op>()),
                    .ranks = 2 + static_cast<int>(random() % 2),
                    .placement = pick(all_of<Placement>()),
                    .memory = pick(all_of<Memory>()),
                    .launch_mode = pick(all_of<LaunchMode>()),
                    .numerics = random() % 4 == 0 ? Numerics::per_hop : Numerics::rank_order};
  };
  for (int round = 0; round < 40; ++round) {
    std::vector<KeyedRules> tables;
    for (int i = 0; i < 30; ++i) {
      const TableKey key = random_key();
      if (std::ranges::find(tables, key, &KeyedRules::key) == tables.end())
        tables.push_back(rules(key, to_string(key)));
    }
    const auto from = dispatcher(tables);
    for (int i = 0; i < 200; ++i) {
      const TableKey key = random_key();
      const Problem problem{.dtype = key.dtype,
                            .op = key.op,
                            .ranks = 2,
                            .placement = key.placement,
                            .memory = key.memory,
                            .launch_mode = key.launch_mode};
      const TableKey asked = key_of(problem, Numerics::rank_order);
      const Answer found = from.find(problem);
      const bool has_exact = std::ranges::find(tables, asked, &KeyedRules::key) != tables.end();
      ASSERT_EQ(found.exact(), has_exact);
      if (found.built_in()) continue;
      ASSERT_EQ(found.table->key.ranks, 2);
      ASSERT_EQ(found.table->key.placement, key.placement);
      ASSERT_EQ(found.table->key.numerics, Numerics::rank_order);
      ASSERT_EQ(size_of(found.table->key.dtype), size_of(key.dtype));
    }
  }
}

}  // namespace
}  // namespace attune
