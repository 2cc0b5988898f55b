#pragma once
/// Reductions and stores that the switch between the GPUs carries out (NVLink SHARP): one load gives the sum of every
/// rank's input at a position, one store reaches every rank's output. Here is what they mean, in ordinary loads and
/// stores: devices without a switch run it for tests, and cuda where the switch lacks the type or the op.
#include "core/annotations.h"
#include "device/team.h"

namespace attune {

/// A device on which in-switch words are defined, in hardware or emulated.
template <class B>
concept MultimemBlock = B::has_multimem;

/// The op over all ranks' inputs at position i, as elements. What order it is taken in, and how often it is rounded,
/// is the switch's affair.
template <class T, int Ranks>
[[nodiscard]] ATTUNE_DEVICE auto reduce_in_switch(const Team<Ranks>& team, const auto& buffers, const auto& i,
                                                  auto op) {
  return narrow<T>(sum_over(team, buffers, i, op));
}

/// Every rank's output at position i becomes `pack`.
template <int Ranks>
ATTUNE_DEVICE void store_in_switch(const Team<Ranks>& team, const auto& buffers, const auto& i, const auto& pack) {
  for_each_rank(team, [&](int rank) { buffers.out(rank).store(i, pack); });
}

}  // namespace attune
