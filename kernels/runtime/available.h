#pragma once
/// Which variants a team on this node could run at all, before there is a team, and with one.
#include <string>
#include <string_view>
#include <vector>

#include "core/plan.h"
#include "runtime/host_topology.h"
#include "variants/registry.h"

namespace attune::host {

/// Empty, or the reason why this variant cannot run on the host device.
[[nodiscard]] inline std::string why_not(const VariantInfo& info) {
  switch (info.traits.needs) {
    case Needs::multimem:
      return "needs a GPU with NVLink SHARP";
    case Needs::many_nodes:
      return "needs more than one node";
    case Needs::nothing:
    case Needs::domains:  // see below
    case Needs::peer_inputs:
    case Needs::peer_outputs:
    case Needs::peer_scratch:
    case Needs::peer_inboxes:
    case Needs::peer_slots:
    case Needs::mailboxes:
      break;
  }
  return {};
}

/// The same in a team of these domains.
[[nodiscard]] inline std::string why_not(const VariantInfo& info, const Domains& domains) {
  if (info.traits.needs == Needs::domains && domains.count == 1)
    return "needs ranks in several domains: " + domains.why_one;
  return why_not(info);
}

/// The plan, unless it needs several domains where there is one: then one level in the same blocks. Never a reason to
/// look at anything but what is equal on all ranks.
[[nodiscard]] inline Plan runnable(const Plan& plan, const Domains& domains) {
  if (domains.count > 1 || variant(plan.variant).traits.needs != Needs::domains) return plan;
  return {.variant = "two_shot_write", .blocks = plan.blocks};
}

/// The names that built-in defaults may hold there. Two levels are for domains of several ranks, and move more than one
/// level does: without a measurement they are worth it only where crossing is dear without a doubt.
[[nodiscard]] inline std::vector<std::string_view> names_for(const Domains& domains) {
  constexpr auto all = all_variant_names();
  std::vector<std::string_view> names(all.begin(), all.end());
  const bool two_levels = domains.far_apart() && domains.near > 1;
  if (!two_levels) std::erase_if(names, [](auto name) { return variant(name).traits.needs == Needs::domains; });
  return names;
}

}  // namespace attune::host
