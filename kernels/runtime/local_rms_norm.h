#pragma once
/// The norm alone, of rows in memory of this process: what follows the vendor's reduction.
#include "device/ops.h"
#include "device/team.h"

namespace attune::host {

struct local_rms_norm {
  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& rows, auto norm_of) {
    const auto sum = rows.sum(team.rank);
    const auto normalised = rows.normalised(team.rank);
    block.for_each_row(rows.mine(), rows.cols(), [&](Span row) {
      const double squares = block.sum_of(row, [&](auto i) {
        const auto total = rows.with_residual(i, widen(rows.in(team.rank).load(i)));
        sum.store(i, total);
        return Prod{}(widen(total), widen(total));
      });
      const auto norm = norm_of(row, squares);
      block.for_each_pack(row, [&](auto i) { normalised.store(i, norm(i, widen(sum.load(i)))); });
    });
  }
};

}  // namespace attune::host
