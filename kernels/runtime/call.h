#pragma once
/// One allreduce on one rank, as the layers below the public API see it.
#include "core/plan.h"
#include "core/types.h"

namespace attune {

/// What happens to the result at the store. Operands are memory of the calling rank, of the call's dtype.
struct EpilogueSpec {
  EpilogueKind kind = EpilogueKind::none;
  double scale = 1;               ///< `scale`: the factor.
  const void* operand = nullptr;  ///< `bias`: cols elements; `residual`: count elements.
  Index cols = 1;                 ///< `bias`: the row length.
};

struct AllreduceCall {
  const void* in = nullptr;
  void* out = nullptr;
  Index count = 0;
  DType dtype = DType::f32;
  Op op = Op::sum;
  EpilogueSpec epilogue;
};

/// Throws Error(usage) for a negative count, a null buffer with elements, a buffer that the dtype does not allow to
/// lie where it does, partly overlapping buffers, or an epilogue without its operand.
void check(const AllreduceCall& call);

}  // namespace attune
