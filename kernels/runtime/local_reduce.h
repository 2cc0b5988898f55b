#pragma once
/// The reduction alone: `in[0…n-1]` are all memory of this process. Composites reduce with it, and apply epilogues
/// (one input).
#include "core/partition.h"
#include "device/views.h"

namespace attune::host {

struct local_reduce {
  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& buffers, auto op, auto epilogue) {
    const auto in = by_rank(team, [&](int rank) { return buffers.in(rank); });
    const auto out = buffers.out(team.rank);
    block.for_each_pack(
        block.share_of({0, buffers.count}), [=](auto i) __attribute__((always_inline)) {
          out.store(i, narrow<T>(epilogue(i, sum_over(team, in, i, op))));
        });
  }
};

}  // namespace attune::host
