#pragma once
/// What is used where no table answers: a small table per device in the same form, kept in this one place.
#include <span>
#include <string_view>
#include <vector>

#include "core/hardware.h"
#include "dispatch/table.h"

namespace attune {

/// The built-in rules of a device for one collective on one kind of memory. Only variants in `known` (or `vendor`)
/// appear, never one of a per-hop numerics class, and in place only such as are safe there.
[[nodiscard]] std::vector<Rule> default_rules(DeviceKind device, Collective collective, Placement placement,
                                              Memory memory, int ranks, std::span<const std::string_view> known);

}  // namespace attune
