/// The look-up of a plan, which every call makes: the budget is 50 ns. Sizes are drawn beforehand, so that the branch
/// predictor cannot learn the one answer.
#include <benchmark/benchmark.h>

#include <random>

#include "dispatch/dispatcher.h"
#include "variants/registry.h"

namespace attune {
namespace {
constexpr auto names = variant_names();

/// A table of `rules` rules for every dtype and placement, sum, 2 ranks.
Table table_of(int rules) {
  Table table;
  for (const DType dtype : all_of<DType>())
    for (const Placement placement : all_of<Placement>()) {
      KeyedRules keyed{.key = {.dtype = dtype, .placement = placement}, .rules = {}};
      for (int i = 0; i < rules; ++i) {
        Rule rule;
        rule.min_bytes = i == 0 ? 0 : Bytes{1} << (2 + i);
        rule.plan.variant = i % 2 == 0 ? "mesh" : "two_shot";
        keyed.rules.push_back(rule);
      }
      table.tables.push_back(std::move(keyed));
    }
  return table;
}

std::vector<Problem> problems() {
  std::mt19937 random(7);
  std::vector<Problem> list(1024);
  for (auto& problem : list) {
    problem.dtype = static_cast<DType>(random() % 12);
    problem.count = Index{1} << (random() % 24);
    problem.ranks = 2;
    problem.placement = static_cast<Placement>(random() % 2);
  }
  return list;
}

void find_plan(benchmark::State& state) {
  const Dispatcher dispatcher(table_of(static_cast<int>(state.range(0))), DeviceKind::host, 2, Numerics::rank_order,
                              names);
  const auto asked = problems();
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(dispatcher.find(asked[i++ % asked.size()]).rule);
}
BENCHMARK(find_plan)->Arg(1)->Arg(4)->Arg(24)->ArgName("rules");

}  // namespace
}  // namespace attune
