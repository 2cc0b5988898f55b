#include "dispatch/defaults.h"

#include <algorithm>
#include <initializer_list>

namespace attune {
namespace {

constexpr Bytes KiB = 1024;

std::string first_known(std::initializer_list<std::string_view> names, std::span<const std::string_view> known) {
  for (const std::string_view name : names)
    if (std::ranges::find(known, name) != known.end()) return std::string(name);
  return "vendor";
}

/// Where the next way begins to win, measured on two cores of a Zen 3, with a cache in common and without, for two
/// ranks; for more of them on the same cores. Registered: pushing in one shot while the message is a few lines; pulling
/// in one shot for the next sizes; above, results written straight into every output move the least. In place, pulling
/// is wrong: a rank would overwrite input that peers still read. Staged: one shot through the mailboxes, then shards
/// through slots. One block: more of them need cores that the application may be using.
std::vector<Rule> host_allreduce(Placement placement, Memory memory, int ranks,
                                 std::span<const std::string_view> known) {
  std::vector<Rule> rules;
  const auto from = [&](Bytes bytes, std::initializer_list<std::string_view> names) {
    Plan plan{.variant = first_known(names, known)};
    if (rules.empty() || rules.back().plan != plan) rules.push_back({.min_bytes = bytes, .plan = plan});
  };
  const bool two = ranks == 2;
  const Bytes pushed = two ? 512 : 129;
  if (memory == Memory::staged) {
    from(0, {"push", "staged_two_shot", "two_shot_write", "two_shot"});
    from((two ? 16 : 4) * KiB, {"staged_two_shot", "two_shot_write", "two_shot"});
    return rules;
  }
  // Known only between sockets and NUMA nodes, or domains given by hand (never between the caches of one socket: it
  // moves more through memory that they share). By what crosses between them; not measured on such a machine.
  const Bytes two_levels = 1024 * KiB;
  if (placement == Placement::in_place) {
    from(0, {"push", "two_shot_write", "two_shot"});
    from(pushed, {"two_shot_write", "two_shot"});
    from(two_levels, {"two_level", "two_shot_write", "two_shot"});
    return rules;
  }
  from(0, {"push", "mesh", "two_shot_write", "two_shot"});
  from(pushed, {"mesh", "two_shot_write", "two_shot"});
  from((two ? 2 : 4) * KiB, {"two_shot_write", "two_shot"});
  from(two_levels, {"two_level", "two_shot_write", "two_shot"});
  return rules;
}

/// The sizes at which vLLM's custom allreduce leaves one-shot (512 KiB up to 4 ranks, 256 KiB above, never with 2)
/// and gives up to the vendor (8 MiB); 36 blocks of 512 threads are its launch shape too.
std::vector<Rule> cuda_allreduce(Placement placement, int ranks, std::span<const std::string_view> known) {
  constexpr int blocks = 36;
  constexpr int threads = 512;
  const std::string two_shot = first_known({"two_shot", "two_shot_write"}, known);
  const std::string one_shot = placement == Placement::in_place ? two_shot : first_known({"mesh"}, known);
  const Bytes leave_one_shot = ranks <= 2 ? 8192 * KiB : ranks <= 4 ? 512 * KiB : 256 * KiB;
  const auto plan = [](const std::string& variant) {
    return variant == "vendor" ? Plan{} : Plan{.variant = variant, .blocks = blocks, .threads = threads};
  };
  std::vector<Rule> rules{{.min_bytes = 0, .plan = plan(one_shot)}};
  if (ranks > 2 && one_shot != two_shot) rules.push_back({.min_bytes = leave_one_shot, .plan = plan(two_shot)});
  if (rules.back().plan.variant != "vendor") rules.push_back({.min_bytes = 8192 * KiB, .plan = {}});
  return rules;
}

}  // namespace

std::vector<Rule> default_rules(DeviceKind device, Collective collective, Placement placement, Memory memory, int ranks,
                                std::span<const std::string_view> known) {
  if (is_fused(collective)) {  // the kernel of the same name is its own and only variant
    Plan plan{.variant = first_known({name_of(collective)}, known)};
    if (device == DeviceKind::cuda && plan.variant != "vendor") plan.blocks = 36, plan.threads = 512;
    return {{.min_bytes = 0, .plan = plan}};
  }
  return device == DeviceKind::host ? host_allreduce(placement, memory, ranks, known)
                                    : cuda_allreduce(placement, ranks, known);
}

}  // namespace attune
