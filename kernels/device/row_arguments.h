#pragma once
/// The arguments of a fused kernel, as the launch carries them.
#include "core/partition.h"
#include "core/types.h"

namespace attune {

struct RowArguments {
  Index cols = 0;
  Span mine;                       ///< My rows, as the inputs number them.
  Index origin = 0;                ///< The row that lies at the start of the output buffers.
  const void* residual = nullptr;  ///< As the inputs, or null: added to the sum, which is rounded before and after.
  const void* gamma = nullptr;     ///< `cols` elements.
  double epsilon = 0;
  double weight_offset = 0;
};

}  // namespace attune
