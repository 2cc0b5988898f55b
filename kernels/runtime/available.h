#pragma once
/// Which variants a team on this node could run at all, before there is a team.
#include <string>

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

}  // namespace attune::host
