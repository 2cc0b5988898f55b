#pragma once
/// What every block of a host launch shares, and the slow half of waiting. Plain data and ordinary functions: the
/// kernels of all instruction sets link to one copy.
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "core/types.h"
#include "device/host_memory.h"

namespace attune::host {

/// How a rank waits for its peers.
struct WaitPolicy {
  int spins = 4096;                           ///< Polls before the first yield; 0 when ranks outnumber cores.
  double timeout_s = 30;                      ///< 0 = for ever.
  void (*progress)(void* context) = nullptr;  ///< Drives MPI now and then, so that a peer blocked in a send gets here.
  void* progress_context = nullptr;
};

/// One collective call on one rank.
struct Launch {
  std::string_view variant;
  int rank = 0;
  int ranks = 1;
  int near = 1;  ///< Ranks of a domain.
  int blocks = 1;
  Index count = 0;               ///< Elements of this piece of the message.
  Index chunk = 0;               ///< Elements of a pipelining step.
  bool streaming = false;        ///< Store outputs past the cache.
  bool sends_past_cache = true;  ///< And what peers will read.
  Op op = Op::sum;
  SymmetricAddress in;  ///< My input and output as peers can address them; 0 when they cannot.
  SymmetricAddress out;
  std::byte* local_in = nullptr;  ///< The same in this process.
  std::byte* local_out = nullptr;
  SymmetricAddress second_out;  ///< Fused kernels: the normalised rows.
  std::byte* local_second_out = nullptr;
  std::uint64_t digest = 0;        ///< Of everything that must be equal on all ranks.
  std::uint32_t number = 0;        ///< Launches of this team so far; equal on all ranks.
  std::uint64_t mail_call = 0;     ///< Number of this in-band launch, never 0; equal on all ranks.
  const void* epilogue = nullptr;  ///< An AnyEpilogue<T>, or a caller's functor.
  const void* extra = nullptr;     ///< Arguments of fused kernels.

  std::array<Control*, max_ranks> control{};                        ///< Every rank's control block.
  std::array<std::byte*, max_ranks> scratch{};                      ///< Every rank's scratch,
  std::array<std::byte*, max_ranks> inbox{};                        ///< and inbox.
  const std::array<std::byte*, max_ranks>* segment = nullptr;       ///< [segment number][rank] → address here.
  const std::array<std::byte*, max_ranks>* known_inputs = nullptr;  ///< All inputs are in this process.
  Counters* counters = nullptr;
  WaitPolicy policy;
};

/// Waits beyond the first spins: yields, drives progress, notices a peer that has given up, and times out.
/// Throws Error(timeout) that names variant, block, rank, peer, expected and seen epoch; Error(internal) when the
/// peer has failed; Error(usage) when it is in another call.
void wait_slow(const Launch& launch, const std::atomic<Epoch>& flag, Epoch expected, int block, int peer);

/// The same until the mail of this launch's call has come.
void wait_for_mail(const Launch& launch, const std::atomic<std::uint64_t>& flag, int block, int peer);

/// Throws Error(usage): a peer is in another call than this rank.
[[noreturn]] void refuse_mismatch(const Launch& launch, int peer);

/// A kernel: one block's work of one launch.
using Kernel = void (*)(const Launch& launch, int block);

}  // namespace attune::host
