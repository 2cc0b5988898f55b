#pragma once
/// From a fused call to what its kernels take, the same on every device.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "device/row_arguments.h"
#include "runtime/norm_call.h"
#include "variants/registry.h"

namespace attune {

/// The kernel's place in fused_table.
inline std::size_t index_of(Collective collective) {
  const auto found = std::ranges::find(fused_table, name_of(collective), &VariantInfo::name);
  return static_cast<std::size_t>(found - fused_table.begin());
}

/// All but whose rows they are.
inline RowArguments arguments_of(const NormCall& call) {
  RowArguments arguments;
  arguments.cols = call.cols;
  arguments.residual = call.residual;
  arguments.gamma = call.norm.gamma;
  arguments.epsilon = call.norm.epsilon;
  arguments.weight_offset = call.norm.weight_offset;
  return arguments;
}

/// How many rows of `bytes_per_row` fit in `room`; throws Error(unsupported) when not even one does.
inline Index rows_that_fit(const NormCall& call, Bytes bytes_per_row, Bytes room) {
  const Index rows = room / bytes_per_row;
  if (rows >= 1) return rows;
  throw Error(Status::unsupported,
              fmt::format("{}: rows of {} columns do not fit in the scratch of {} bytes", name_of(call.collective),
                          call.cols, room),
              "use buffers from allocate, or enlarge Options::scratch_bytes");
}

}  // namespace attune
