#pragma once
/// What a variant says of itself: traits without defaults for what a wrong guess would corrupt, and its cost.
#include "core/types.h"

namespace attune {

enum class Family : std::uint8_t {
  one_shot,
  two_shot,
  ring,
  halving_doubling,
  tree,
  two_level,
  multimem,
  fused,
  composite
};
/// What a variant must be able to do with peers.
enum class Needs : std::uint8_t {
  nothing,
  mailboxes,     ///< Write to peers' mailboxes alone: any buffer will do.
  peer_inputs,   ///< Read peers' inputs.
  peer_scratch,  ///< Read peers' inputs and scratch.
  peer_outputs,  ///< Read peers' inputs, read or write their outputs.
  peer_inboxes,  ///< Write to peers' inboxes and outputs; inputs may be any memory.
  peer_slots,    ///< Write to peers' inboxes and read their scratch, slot by slot: any buffer and any length will do.
  domains,       ///< As peer_outputs, and scratch for accumulators; ranks that fall into several domains.
  multimem,      ///< Multicast addresses of all ranks' inputs and outputs, and a switch that adds.
  many_nodes
};
/// Must peers be able to address my input, or my output?
[[nodiscard]] constexpr bool reads_peer_inputs(Needs needs) {
  return needs == Needs::peer_inputs || needs == Needs::peer_scratch || needs == Needs::peer_outputs ||
         needs == Needs::domains || needs == Needs::multimem;
}
[[nodiscard]] constexpr bool uses_peer_outputs(Needs needs) {
  return needs == Needs::peer_outputs || needs == Needs::peer_inboxes || needs == Needs::domains ||
         needs == Needs::multimem;
}

enum class InPlace : std::uint8_t { safe, unsafe };

struct Traits {
  Family family;
  const char* label;  ///< What people read behind the name: "one-shot, pull".
  Numerics numerics;  ///< What rounding it does; a table ranks plans of one class (and the vendor).
  Needs needs;
  InPlace in_place;  ///< Correct when input and output are the same memory?
  bool chunked;      ///< Does chunk_bytes mean anything?
  int max_blocks;    ///< Blocks beyond which it gains nothing or is not defined.
  Bytes max_bytes;   ///< Largest message it takes; 0 = any.

  consteval Traits(Family family_, const char* label_, Numerics numerics_, Needs needs_, InPlace in_place_,
                   bool chunked_, int max_blocks_, Bytes max_bytes_)
      : family(family_),
        label(label_),
        numerics(numerics_),
        needs(needs_),
        in_place(in_place_),
        chunked(chunked_),
        max_blocks(max_blocks_),
        max_bytes(max_bytes_) {}
};

/// What a whole team moves in one call, exact for any count. Rounds are dependent steps.
struct Cost {
  Bytes peer_reads = 0;
  Bytes peer_writes = 0;
  Bytes local_reads = 0;
  Bytes local_writes = 0;
  Index notifies = 0;  ///< Flags written to peers by one block index over the team, those inside barriers not counted;
                       ///< of pipelined variants: when each shard is one chunk.
  int barriers = 0;    ///< Team barriers that every block passes.
  int rounds = 0;      ///< Dependent remote steps: the latency term.
  friend constexpr bool operator==(const Cost&, const Cost&) = default;
};

}  // namespace attune
