#pragma once
/// Two-shot allreduce, write mode: each rank reduces its own shard of every rank's input and writes the sum
/// straight into every rank's output.
///   out[r][i] = in[0][i] + … + in[n-1][i]   for i in shard(me), every rank r
/// Wins       medium and large messages: every byte is read once and written once, the least that is possible.
/// Per rank   reads about (n-1)/n·bytes from peers and writes as much to them; 2 barriers; 2 rounds.
/// In place   safe: shard r of every buffer is touched by rank r alone.
/// Scratch    none.
/// Source     the bound of owner-computes over a shared address space (Li, Hoefler, Hu, Snir 2014); on GPUs aiter's
///            broadcast of output pointers (ROCm/aiter #1910) and MSCCL++'s zero-copy reduce-scatter/all-gather.
#include "core/partition.h"
#include "core/traits.h"
#include "device/views.h"

namespace attune::variants {

struct two_shot_write {
  static constexpr Traits traits{
      Family::two_shot, "two-shot, write", Numerics::rank_order, Needs::peer_outputs, InPlace::safe, false, 64, 0};
  static constexpr Cost cost(int n, Bytes bytes) {
    return {.peer_reads = (n - 1) * bytes,
            .peer_writes = (n - 1) * bytes,
            .local_reads = bytes,
            .local_writes = bytes,
            .barriers = 2,
            .rounds = 2};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& buffers, auto op, auto epilogue) {
    block.barrier(team);  // every input is ready
    const auto in = by_rank(team, [&](int rank) { return buffers.in(rank); });
    const auto out = by_distance(team, [&](int rank) { return buffers.out(rank); });
    const Span mine = block.share_of(block.shard_of(buffers.count, team.rank, team.ranks));
    block.for_each_pack(
        mine, [=](auto i) __attribute__((always_inline)) {
          send_to_all(team, out, i, narrow<T>(epilogue(i, sum_over(team, in, i, op))));
        });
    block.drain();
    block.barrier(team);  // every output has landed, every input has been read
  }
};

}  // namespace attune::variants
