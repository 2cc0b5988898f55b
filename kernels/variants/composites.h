#pragma once
/// What the vocabulary cannot say, described like variants: host sequences of launches and vendor calls
/// (runtime/composites). Their traits and cost cards let tables, sweeps and docs treat them like the others.
#include "core/traits.h"

namespace attune::variants {

/// Every peer's input is copied over the slow path (the vendor's messages) and reduced locally, in rank order:
/// works with no peer access at all. Chunk by chunk, so that staging stays small.
struct naive {
  static constexpr Traits traits{
      Family::composite, "copies through the host", Numerics::rank_order, Needs::nothing, InPlace::safe, false, 1, 0};
  static constexpr Cost cost(int n, Bytes bytes) {
    return {.peer_reads = n * (n - 1) * bytes,
            .local_reads = 2 * n * bytes + n * (n - 1) * bytes,
            .local_writes = n * bytes + n * n * bytes,
            .rounds = n - 1};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }
};

/// The vendor's own collective: MPI_Allreduce on host, NCCL on cuda. Its traffic is its own affair: no card.
struct vendor {
  static constexpr Traits traits{
      Family::composite, "the vendor's", Numerics::vendor, Needs::nothing, InPlace::safe, false, 1, 0};
  static constexpr Cost cost(int /*ranks*/, Bytes /*bytes*/) { return {}; }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }
};

}  // namespace attune::variants
