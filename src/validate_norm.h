#pragma once
/// The second output of the fused kernels: rows normalised by their root mean square.
#include <optional>
#include <vector>

#include "core/plan.h"
#include "runtime/norm_call.h"
#include "src/validate_data.h"

namespace attune::driver {

/// Weights that are exact in every dtype and differ from column to column: `cols` elements.
[[nodiscard]] std::vector<std::byte> gamma_weights(const Problem& problem);

/// Is `normalised` the RMSNorm of `sum` as it is stored (`elements` of whole rows)? The reference is in fp64, the bound
/// that of a row's statistics and product in f32 and one rounding to the dtype.
[[nodiscard]] std::optional<Mismatch> check_norm(const Problem& problem, Index elements, const void* sum,
                                                 const void* normalised, const RmsNormSpec& norm);

}  // namespace attune::driver
