#pragma once
/// The kernels of every variant for the instruction set of this machine.
#include <string_view>

#include "runtime/fused_kernels.h"
#include "runtime/host_kernels.h"

namespace attune::host {

/// Name of the instruction set that kernels run on here: the best that the machine has, or ATTUNE_ISA.
/// Throws Error(usage) when ATTUNE_ISA names one that is unknown or that this machine lacks.
[[nodiscard]] std::string_view instruction_set();

/// The kernels of a variant in the vocabulary, by its index in variant_table.
[[nodiscard]] const KernelTable& kernels(std::size_t variant_index);

/// out = op over `inputs` in rank order, then the epilogue: no peers involved. Used by the composites.
[[nodiscard]] const KernelTable& local_kernels();

/// The kernels of a fused collective (index in fused_table), and of the norm alone.
[[nodiscard]] const FusedTable& fused_kernels(std::size_t index);
[[nodiscard]] const FusedTable& local_norm_kernels();

}  // namespace attune::host
