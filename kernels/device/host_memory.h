#pragma once
/// What one rank shares with its peers on host: flag pads and launch records, mailboxes, scratch. Plain layout,
/// zeroed before the addresses are exchanged.
#include <array>
#include <atomic>
#include <cstddef>

#include "core/types.h"
#include "device/signal.h"
#include "device/symmetric_address.h"

namespace attune::host {

inline constexpr int max_blocks = 64;

/// What a rank tells its peers of one launch: where its buffers are.
struct LaunchRecord {
  std::atomic<std::uint64_t> in{0};
  std::atomic<std::uint64_t> out{0};
  std::atomic<std::uint64_t> second_out{0};
};

/// One flag and the sender's launch record, in one cache line: who has seen the flag has the record as well. With it a
/// digest of what the sender was asked to do, so that ranks that were called differently find out instead of hanging.
/// Two of each by parity of the launch, because a fast sender may be one launch ahead. Padded to 128 bytes: the
/// hardware fetches lines in pairs.
struct alignas(128) FlagLine {
  std::atomic<Epoch> epoch{0};
  std::array<std::atomic<std::uint32_t>, 2> digest{};
  std::array<LaunchRecord, 2> record;
};
static_assert(sizeof(FlagLine) == 128);
static_assert(sizeof(Epoch) + sizeof(FlagLine::digest) + 4 + sizeof(FlagLine::record) == 64, "one cache line");

/// The flags that a rank's peers write: [block][sender].
struct Pad {
  std::array<std::array<FlagLine, max_ranks>, max_blocks> line;
};

/// What a rank knows of its own counting, per block and peer; private to the rank.
struct Counters {
  struct alignas(64) OfBlock {
    std::array<Epoch, max_ranks> sent{};
    std::array<Epoch, max_ranks> expected{};
  };
  std::array<OfBlock, max_blocks> block;
};

/// Mailboxes of in-band variants: fixed places that depend on neither size nor grid. Two generations, alternating by
/// call, suffice because every call waits for a message of every peer: a peer that writes generation g again has
/// finished the call between, so I had begun that one and finished with g. The flag is the number of the call: equal
/// or not, no order; 64 bits never wrap, 0 is an empty mailbox.
struct alignas(64) MailLine {
  std::atomic<std::uint64_t> call{0};
  std::uint64_t digest = 0;  ///< Of what the sender was asked to do.
  static constexpr Bytes capacity = 48;
  std::array<std::byte, capacity> payload{};  ///< The whole message when it fits.
};
static_assert(sizeof(MailLine) == 64);

struct alignas(128) Mailbox {
  std::array<MailLine, max_blocks> line;      ///< One flag per block of the sender.
  std::array<std::byte, mail_capacity> body;  ///< The message when it does not fit in a line.
};
struct Mail {
  std::array<std::array<Mailbox, max_ranks>, mail_generations> box;  ///< [generation][sender]
};

/// Which launch a rank is in, for peers that have waited long: one that is in another call will never come.
struct CurrentLaunch {
  std::atomic<std::uint64_t> number{0};  ///< Plus one: 0 = none yet.
  std::atomic<std::uint64_t> digest{0};
};

/// A rank's shared control block.
struct Control {
  Pad pad;
  Mail mail;
  std::array<CurrentLaunch, 2> current;  ///< By parity of the launch: a peer may be one ahead.
  std::atomic<std::uint32_t> failed{0};  ///< Set when the rank gives up, so that peers stop waiting for it.
};

}  // namespace attune::host
