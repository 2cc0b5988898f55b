#pragma once
/// One call of a fused kernel on one rank: a sum over ranks, row by row, and the RMSNorm of the rows.
#include "core/partition.h"
#include "core/plan.h"
#include "core/types.h"

namespace attune {

/// `normalised = sum · 1/√(mean(sum²) + epsilon) · (gamma + weight_offset)`, row by row, statistics in f32 over the sum
/// as it is stored.
struct RmsNormSpec {
  const void* gamma = nullptr;  ///< `cols` elements of the call's dtype, the same on all ranks.
  double epsilon = 1e-6;
  double weight_offset = 0;  ///< 1 for models that store gamma - 1.
};

/// Matrices are dense, row by row. `in`: [rows, cols] on every rank.
///   reduce_scatter_rms_norm  sum, normalised: [my rows, cols]
///   allreduce_rms_norm       sum, normalised: [rows, cols]; residual (or null) too, added to the sum
struct NormCall {
  Collective collective = Collective::reduce_scatter_rms_norm;
  const void* in = nullptr;
  const void* residual = nullptr;
  void* sum = nullptr;
  void* normalised = nullptr;
  Index rows = 0;
  Index cols = 0;
  DType dtype = DType::bf16;
  RmsNormSpec norm;
  void* stream = nullptr;  ///< As in AllreduceCall.
};

/// The rows that a rank owns: a contiguous run, the first `rows mod ranks` ranks own one more.
[[nodiscard]] constexpr Span rows_of(Index rows, int rank, int ranks) { return part_of({0, rows}, rank, ranks, 1); }

/// Throws Error(usage) for a negative size, a null or misaligned buffer that is not empty, or buffers that overlap
/// (only allreduce_rms_norm may take one buffer for input, residual and sum); Error(unsupported) for a dtype other
/// than f32, f16, bf16.
void check(const NormCall& call, int rank, int ranks);

}  // namespace attune
