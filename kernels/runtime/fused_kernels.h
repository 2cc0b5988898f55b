#pragma once
/// From a fused kernel's type to functions that can be called.
#include <array>

#include "device/host_block.h"
#include "device/rms_norm.h"

namespace attune::host {

/// The kernels of one fused collective, by dtype: for two ranks, for any. Null where there is none.
struct FusedTable {
  std::array<Kernel, 12> two{};
  std::array<Kernel, 12> any{};
};

template <class V, class Isa, class T, int Ranks>
[[gnu::flatten]] void fused_kernel(const Launch& launch, int index) {
  Block<Isa, T, false> block(launch, index);
  const auto& arguments = *static_cast<const RowArguments*>(launch.extra);
  const Rows<T> rows{block.addresses(), arguments};
  V::template run<Ranks, T>(block, Team<Ranks>(launch.rank, launch.ranks), rows,
                            [&](Span row, double squares) { return RmsNorm<T>(arguments, row, squares); });
}

template <class V, class Isa>
FusedTable make_fused_kernels() {
  FusedTable table;
  const auto add = [&]<class T>() {
    const auto d = static_cast<std::size_t>(dtype_of<T>);
    table.two[d] = &fused_kernel<V, Isa, T, 2>;
    table.any[d] = &fused_kernel<V, Isa, T, 0>;
  };
  add.template operator()<float>();
  add.template operator()<f16>();
  add.template operator()<bf16>();
  return table;
}

/// Defined in a generated translation unit per kernel and instruction set.
template <class V, class Isa>
const FusedTable& fused_kernels_of();

}  // namespace attune::host
