#pragma once
/// One launch on one rank, the single argument of every kernel. Plain data: host code fills it, kernels read it from
/// constant memory.
#include <cstddef>
#include <cstdint>

#include "core/types.h"
#include "device/cuda_memory.h"
#include "device/row_arguments.h"
#include "device/symmetric_address.h"

namespace attune::cuda {

/// The epilogue of a call (device/epilogue.h), with an operand in device memory.
struct EpilogueArguments {
  EpilogueKind kind = EpilogueKind::none;
  int divisor = 1;                ///< Ranks for avg, else 1.
  double scale = 1;               ///< `scale`.
  const void* operand = nullptr;  ///< `bias`: cols elements; `residual`: the message's elements.
  Index cols = 1;                 ///< `bias`.
  Index base = 0;                 ///< Position of this launch's element 0 in the caller's message.
};

/// Device addresses of a kind of buffer, by rank.
struct PerRank {
  std::byte* at[max_ranks] = {};
};

/// Addresses of all ranks' buffers as this device sees them. Mine are always set. A peer's `in`, `out` and `second_out`
/// may be null: they are learned from the launch record that comes with the peer's first flag, and need
/// Launch::segment. Addresses that are set are taken as they are (composites; staging areas; teams in one process).
/// All bases are multiples of 16 bytes, those of memory that peers never address (`out` of mesh, two_shot, push, and
/// `in` of push and two_shot_push) included.
struct Addresses {
  PerRank in;
  PerRank out;
  PerRank second_out;  ///< Fused kernels: the normalised rows.
  PerRank scratch;
  PerRank inbox;
};

struct Launch {
  int rank = 0;
  int ranks = 1;
  int blocks = 1;    ///< The grid, 1 to max_blocks.
  int threads = 32;  ///< The block, whole warps, 32 to KernelEntry::max_threads.
  Index count = 0;   ///< Elements of this piece of the message; at least 1.
  Index chunk = 1;   ///< Elements of a pipelining step; a multiple of 16 bytes.
  Op op = Op::sum;
  std::int32_t variant = -1;  ///< For Failure alone: any number that the host can name.
  std::int32_t number = 0;    ///< For the host alone.
  EpilogueArguments epilogue;
  RowArguments rows;  ///< Fused kernels alone.

  Addresses at;
  SymmetricAddress in;  ///< My buffers as peers can address them; 0 when they cannot.
  SymmetricAddress out;
  SymmetricAddress second_out;
  /// [segment number][rank] → address on this device. In device memory, read when a record is: a captured launch may
  /// name a segment whose row is filled later.
  std::byte* const (*segment)[max_ranks] = nullptr;
  /// Multicast addresses of all ranks' input and output (multimem variants alone).
  std::byte* multicast_in = nullptr;
  std::byte* multicast_out = nullptr;

  Control* control[max_ranks] = {};  ///< Every rank's control block.
  Counters* counters = nullptr;      ///< Mine, in device memory.
  Failure* failure = nullptr;        ///< Mine, the device's address of pinned host memory.
  std::uint64_t digest = 0;          ///< Of everything that must be equal on all ranks.
  std::uint64_t timeout_ns = 0;      ///< 0 = wait for ever.
  /// After a failure has been recorded: true = trap, which ends every stream of the process (no wrong result can be
  /// used); false = all threads leave, outputs are undefined, and the host finds Failure::kind.
  bool trap_on_failure = false;
};
static_assert(sizeof(Launch) <= 4096, "kernel arguments");

/// The argument of the common-start kernel: spins until *word (pinned host memory) has reached `target`.
struct StartLine {
  const std::uint32_t* word = nullptr;
  std::uint32_t target = 0;
  std::uint64_t timeout_ns = 0;
};

}  // namespace attune::cuda
