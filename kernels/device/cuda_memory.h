#pragma once
/// What lies in device memory on cuda: flag pads and launch records, mailboxes, a rank's own counters, and the record
/// of a failure in pinned host memory. Plain layout, shared by kernels and host code. All of it is valid when zeroed;
/// it is zeroed before the addresses are exchanged, and never after.
///
/// Nothing that changes from launch to launch is an argument of a kernel: counts live in `Counters` and are advanced
/// by the kernels themselves, so that a captured launch can be replayed.
#include <cstddef>
#include <cstdint>

#include "core/types.h"
#include "device/signal.h"

namespace attune::cuda {

inline constexpr int max_blocks = 64;
inline constexpr int max_threads = 512;  ///< Of a block; some kernels take less (KernelEntry::max_threads).
inline constexpr int min_threads = 32;   ///< Thread r speaks with rank r; threads come in whole warps.

/// What a rank tells its peers of one launch: where its buffers are (words of SymmetricAddress), and a digest of what
/// it was asked to do, so that ranks that were called differently find out instead of hanging.
struct LaunchRecord {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t second_out = 0;
  std::uint64_t digest = 0;
};

/// One flag and the sender's launch record: who has seen the flag has the record as well. Two records by parity of the
/// launches of this block, because a fast sender may be one launch ahead.
struct alignas(128) FlagLine {
  Epoch epoch = 0;
  Epoch failed = 0;  ///< Not 0: the sender has given up, and will not come.
  std::uint64_t reserved = 0;
  LaunchRecord record[2];
};
static_assert(sizeof(FlagLine) == 128);

/// The flags that a rank's peers write.
struct Pad {
  FlagLine line[max_blocks][max_ranks];  ///< [block][sender]
};

/// Two words of four bytes, each with its flag: the halves are single-copy atomic (PTX: vectors are accessed element by
/// element), so whoever sees a flag sees the data beside it. As NCCL's LL.
struct alignas(16) MailLine {
  std::uint32_t data0 = 0;
  std::uint32_t flag0 = 0;
  std::uint32_t data1 = 0;
  std::uint32_t flag1 = 0;
};

/// What a sender's block was asked to do in its latest in-band launch; read when waiting takes long.
struct MailRecord {
  std::uint64_t digest = 0;
  std::uint32_t call = 0;  ///< Number of that launch; written last.
  std::uint32_t reserved = 0;
};

/// A mailbox: a message of up to mail_capacity bytes, two lines for a pack of 16 bytes, and a line for each element of
/// the tail behind the last whole pack. The flag is the number of the in-band launch, never 0.
struct Mailbox {
  static constexpr int tail_lines = 16;
  MailLine body[mail_capacity / 8];
  MailLine tail[tail_lines];
  MailRecord record[max_blocks];  ///< By the sender's block.
};
/// [generation][sender]; generations alternate by call. Two suffice: a rank that writes a generation again has heard in
/// the launch between from every peer, whose earlier launch had therefore ended.
struct Mail {
  Mailbox box[mail_generations][max_ranks];
};

/// What peers write of a rank. Mapped by all ranks.
struct Control {
  Pad pad;
  Mail mail;
};

/// What a rank knows of its own counting. Private to the rank; kernels of one stream order read and write it.
struct Counters {
  struct alignas(128) OfBlock {
    Epoch sent[max_ranks];
    Epoch expected[max_ranks];
    std::uint32_t launches;  ///< Of this block, for the parity of launch records.
  };
  OfBlock block[max_blocks];
  std::uint32_t mail_call;     ///< In-band launches that have ended.
  std::uint32_t mail_arrived;  ///< Blocks of the present one that have read mail_call.
  std::uint32_t failed;        ///< Set by the first failure: later launches leave at once.
};

enum class FailureKind : std::uint32_t {
  none,
  timeout,       ///< The peer has not come within the timeout.
  mismatch,      ///< The peer is in another call: the digests differ.
  peer_failed,   ///< The peer has given up.
  unregistered,  ///< The peer's buffer lies in a segment that is not mapped (yet) on this device.
};

/// The first failure of a rank, in pinned host memory that is mapped into the device. `kind` is written last.
struct Failure {
  FailureKind kind;
  std::int32_t variant;  ///< As in Launch.
  std::int32_t block;
  std::int32_t rank;
  std::int32_t peer;
  Epoch expected;
  Epoch seen;
  std::uint32_t in_band;  ///< 1: expected and seen are numbers of in-band launches.
  std::uint64_t my_digest;
  std::uint64_t peer_digest;  ///< mismatch only.
};

}  // namespace attune::cuda
