#pragma once
/// One allreduce on one rank, as the layers below the public API see it.
#include <span>

#include "core/plan.h"
#include "core/types.h"
#include "device/host_launch.h"

namespace attune {

/// What happens to the result at the store. Operands are memory of the calling rank, of the call's dtype.
struct EpilogueSpec {
  EpilogueKind kind = EpilogueKind::none;
  double scale = 1;               ///< `scale`: the factor.
  const void* operand = nullptr;  ///< `bias`: cols elements; `residual`: count elements.
  Index cols = 1;                 ///< `bias`: the row length.
  bool operator==(const EpilogueSpec&) const = default;
};

/// Kernels of a call with the caller's own epilogue, compiled in the caller's program (attune/epilogue.hpp).
struct CallerKernels {
  std::span<const host::Kernel> sum;  ///< By index in variant_table; the last one is the local reduction.
  std::span<const host::Kernel> any;  ///< The same for any op.
  const void* function = nullptr;
};
/// What those kernels find in Launch::extra.
struct CallerArguments {
  const void* function = nullptr;
  int divisor = 1;  ///< Ranks for avg, else 1.
  Index base = 0;   ///< Position of the span's element 0 in the caller's message.
};

struct AllreduceCall {
  const void* in = nullptr;
  void* out = nullptr;
  Index count = 0;
  DType dtype = DType::f32;
  Op op = Op::sum;
  EpilogueSpec epilogue;
  const CallerKernels* caller = nullptr;  ///< In place of the prebuilt epilogues; host only.
  void* stream = nullptr;  ///< cuda: the cudaStream_t to enqueue on; null = the call blocks, as it always does on host.
  bool operator==(const AllreduceCall&) const = default;
};

/// Throws Error(usage) for a negative count, a null buffer with elements, a buffer that the dtype does not allow to
/// lie where it does, partly overlapping buffers, or an epilogue without its operand.
void check(const AllreduceCall& call);

}  // namespace attune
