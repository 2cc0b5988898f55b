#include "src/sweep_cases.h"

#include <algorithm>

#include "dispatch/table.h"
#include "runtime/cuda_device.h"
#include "variants/registry.h"

namespace attune::driver {

namespace {
/// The sizes and shapes of one group; sizes that are no whole element are rounded down, doubles dropped.
CaseGroup group_of(const SweepConfig& config, const Problem& base) {
  CaseGroup group;
  const Bytes width = size_of(base.dtype);
  if (!is_fused(base.collective) && base.epilogue != EpilogueKind::bias)
    for (const Bytes bytes : config.sizes) {
      Problem problem = base;
      problem.count = bytes / width;
      if (bytes > 0 && problem.count == 0) continue;
      group.problems.push_back(problem);
    }
  for (const Shape& shape : config.shapes) {
    Problem problem = base;
    problem.count = shape.rows * shape.cols;
    problem.rows = shape.rows;
    problem.cols = shape.cols;
    group.problems.push_back(problem);
  }
  const auto size = [](const Problem& p) { return std::tuple(p.count, p.cols, p.rows); };
  std::sort(group.problems.begin(), group.problems.end(),
            [&](const Problem& a, const Problem& b) { return size(a) < size(b); });
  group.problems.erase(std::unique(group.problems.begin(), group.problems.end()), group.problems.end());
  return group;
}

/// The fused kernels take one row length per table.
std::vector<CaseGroup> split_by_cols(const CaseGroup& group) {
  std::vector<CaseGroup> groups;
  std::vector<Index> seen;
  for (const Problem& problem : group.problems) {
    const auto at = std::find(seen.begin(), seen.end(), problem.cols);
    if (at == seen.end()) {
      seen.push_back(problem.cols);
      groups.push_back({{problem}});
    } else {
      groups[static_cast<std::size_t>(at - seen.begin())].problems.push_back(problem);
    }
  }
  return groups;
}

template <class T, class F>
void for_each_of(const std::vector<T>& values, F&& f) {
  for (const T value : values) f(value);
}

/// On a GPU: few blocks for latency, the most that kernels take for bandwidth; what does not fit is cut by occupancy.
std::vector<int> default_blocks(DeviceKind device, int ranks, int cores) {
  if (device == DeviceKind::cuda) return {2, 8, 16, 32, cuda::max_plan_blocks};
  std::vector<int> blocks{1};
  while (blocks.back() * 2 * ranks <= cores) blocks.push_back(blocks.back() * 2);
  return blocks;
}
}  // namespace

std::vector<CaseGroup> groups_of(const SweepConfig& config, int ranks) {
  std::vector<CaseGroup> groups;
  Problem base;
  base.ranks = ranks;
  const auto add = [&] {
    CaseGroup group = group_of(config, base);
    if (group.problems.empty()) return;
    if (!is_fused(base.collective)) return groups.push_back(std::move(group));
    for (auto& one : split_by_cols(group)) groups.push_back(std::move(one));
  };
  for_each_of(config.collectives, [&](Collective collective) {
    base.collective = collective;
    for_each_of(config.dtypes, [&](DType dtype) {
      base.dtype = dtype;
      for_each_of(config.ops, [&](Op op) {
        base.op = op;
        for_each_of(config.placements, [&](Placement placement) {
          base.placement = placement;
          for_each_of(config.memories, [&](Memory memory) {
            base.memory = memory;
            for_each_of(config.launch_modes, [&](LaunchMode mode) {
              base.launch_mode = mode;
              for_each_of(config.epilogues, [&](EpilogueKind epilogue) {
                base.epilogue = epilogue;
                add();
              });
            });
          });
        });
      });
    });
  });
  return groups;
}

std::vector<Plan> plans_of(const SweepConfig& config, const Problem& problem, int cores) {
  std::vector<std::string> names = config.variants;
  const bool fused = is_fused(problem.collective);  // such a kernel is the only one of its collective
  if (fused) names = {std::string(name_of(problem.collective))};
  if (names.empty())
    for (const auto& info : variant_table) names.emplace_back(info.name);
  std::erase(names, "vendor");  // comes first: a search that can afford one plan only must know the safe one
  names.insert(names.begin(), "vendor");
  const auto blocks = config.blocks.empty() ? default_blocks(config.device, problem.ranks, cores) : config.blocks;
  std::vector<Plan> plans;
  for (const auto& name : names) {
    const Traits& traits = variant(name).traits;
    for (const int count : blocks) {
      if (count > traits.max_blocks && count != blocks.front()) continue;
      for (const Bytes chunk : config.chunks) {
        const bool idle = !traits.chunked || chunk >= problem.bytes();
        for (const int threads : config.threads) {
          const bool composite = variant(name).composite;  // takes the launch shapes of others
          const Plan plan{name, std::min(count, traits.max_blocks), composite ? 1 : threads, idle ? 0 : chunk};
          if (std::find(plans.begin(), plans.end(), plan) == plans.end()) plans.push_back(plan);
        }
      }
    }
  }
  return plans;
}

Bytes largest_message(const SweepConfig& config, Memory memory) {
  if (std::find(config.memories.begin(), config.memories.end(), memory) == config.memories.end()) return 0;
  Bytes largest = 64;
  for (const DType dtype : config.dtypes) {
    for (const Bytes size : config.sizes) largest = std::max(largest, size);
    for (const Shape& shape : config.shapes) largest = std::max(largest, shape.rows * shape.cols * size_of(dtype));
  }
  return largest;
}

}  // namespace attune::driver
