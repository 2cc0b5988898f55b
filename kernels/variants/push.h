#pragma once
/// One-shot allreduce, push: every rank writes its input into every peer's mailbox, the flag with the data, and sums
/// what has come.
///   mail[r][me] = in[me]                                           for every peer r
///   out[i] = mail[me][0][i] + … + in[me][i] + … + mail[me][n-1][i]   for every i, on every rank
/// Wins       the smallest messages: one remote write, no barrier before it and none after it.
/// Per rank   writes (n-1)·bytes to peers; no barrier; 1 round.
/// In place   safe: peers read their mailboxes, never my buffers.
/// Scratch    none: mailboxes have two generations that alternate by call. A rank that writes a generation again has
///            heard in the call between from every peer, which therefore had finished reading it.
/// Source     NCCL's LL protocol (flags in the lines of the data); TensorRT-LLM's and SGLang's push kernels, whose
///            in-band sentinels (-0.0, +0.0) met payloads of that value: here the flag is a word of its own.
#include "core/partition.h"
#include "core/traits.h"
#include "device/signal.h"
#include "device/views.h"

namespace attune::variants {

struct push {
  static constexpr Traits traits{
      Family::one_shot, "one-shot, push", Numerics::rank_order, Needs::mailboxes, InPlace::safe, false, 64,
      mail_capacity};
  static constexpr Cost cost(int n, Bytes bytes) {
    return {.peer_writes = n * (n - 1) * bytes,
            .local_reads = n * (n + 1) * bytes,
            .local_writes = n * bytes,
            .notifies = n * (n - 1),
            .rounds = 1};
  }
  static constexpr Bytes scratch(int /*ranks*/, Bytes /*bytes*/) { return 0; }

  template <int Ranks, class T>
  ATTUNE_DEVICE static void run(auto& block, const Team<Ranks>& team, const auto& buffers, auto op, auto epilogue) {
    const Span mine = block.share_of({0, buffers.count});
    block.post(team, buffers, mine);
    const auto letters = block.take(team, buffers);  // every peer's share has come
    const auto in = by_rank(team, [&](int rank) { return letters.in(rank); });
    const auto out = buffers.out(team.rank);
    block.for_each_pack(
        mine, [=](auto i)
                  __attribute__((always_inline)) { out.store(i, narrow<T>(epilogue(i, sum_over(team, in, i, op)))); });
  }
};

}  // namespace attune::variants
