#pragma once
/// Waiting for a peer, and what happens when it does not come: the first thread of the rank that gives up records why
/// in pinned host memory, tells the peers, and every thread leaves the launch. One block's failure ends the waits of
/// the rank's other blocks, and those of later launches at once.
#include "device/cuda.cuh"

namespace attune::cuda {

/// What is waited for, for the record.
struct Awaited {
  int peer;
  Epoch expected;
  bool in_band;
};

/// Records a failure, once per rank, and lets peers know. Called by one thread of a block or by many.
ATTUNE_DEVICE void fail(const Launch& launch, BlockMemory& block, FailureKind kind, const Awaited& awaited, Epoch seen,
                        std::uint64_t peer_digest) {
  store_relaxed(block.failed, 1U);
  DeviceWord<std::uint32_t> claim(launch.counters->failed);
  std::uint32_t free = 0;
  if (claim.compare_exchange_strong(free, 1U, order_both)) {
    Failure& record = *launch.failure;
    record.variant = launch.variant;
    record.block = block_index();
    record.rank = launch.rank;
    record.peer = awaited.peer;
    record.expected = awaited.expected;
    record.seen = seen;
    record.in_band = awaited.in_band ? 1 : 0;
    record.my_digest = launch.digest;
    record.peer_digest = peer_digest;
    store_release(reinterpret_cast<std::uint32_t&>(record.kind), static_cast<std::uint32_t>(kind));
  }
  ATTUNE_NO_UNROLL
  for (int peer = 0; peer < launch.ranks; ++peer)
    if (peer != launch.rank && launch.control[peer] != nullptr)
      store_relaxed(launch.control[peer]->pad.line[block_index()][launch.rank].failed, 1U);
}

/// One wait of one thread: when to stop it. Looks around now and then, at a cost that a wait which is over soon does
/// not pay.
class Patience {
 public:
  ATTUNE_DEVICE Patience(const Launch& launch, BlockMemory& block) : launch_(launch), block_(block), start_(now_ns()) {}

  /// After a poll that has not seen what it awaits: true = give up. After Launch::timeout_ns, when the peer has given
  /// up or is in another call (`digest_of_peer()`, as far as that is known), or when another block of this rank has.
  template <class Digest>
  [[nodiscard]] ATTUNE_DEVICE bool ends(const Awaited& awaited, Epoch seen, Digest digest_of_peer) {
    constexpr unsigned turns_between_looks = 256;
    relax(++turn_);
    if (turn_ % turns_between_looks != 0) return false;
    if (load_relaxed(launch_.counters->failed) != 0) {
      store_relaxed(block_.failed, 1U);
      return true;
    }
    FailureKind kind = FailureKind::none;
    const std::uint64_t other = digest_of_peer();
    if (launch_.timeout_ns != 0 && now_ns() - start_ > launch_.timeout_ns) kind = FailureKind::timeout;
    if (load_relaxed(launch_.control[launch_.rank]->pad.line[block_index()][awaited.peer].failed) != 0)
      kind = FailureKind::peer_failed;
    if (other != launch_.digest) kind = FailureKind::mismatch;
    if (kind == FailureKind::none) return false;
    fail(launch_, block_, kind, awaited, seen, other);
    return true;
  }

 private:
  const Launch& launch_;
  BlockMemory& block_;
  std::uint64_t start_;
  unsigned turn_ = 0;
};

}  // namespace attune::cuda
