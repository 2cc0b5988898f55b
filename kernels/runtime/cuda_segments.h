#pragma once
/// The buffers of this rank that peers can address, by the numbers that launch records carry. Every rank numbers its
/// own: a reader looks up [number][sender] in its device's table, so that ranks need not agree on numbers.
#include <memory>
#include <vector>

#include "device/symmetric_address.h"
#include "runtime/cuda_multicast.h"
#include "runtime/cuda_peers.h"

namespace attune::cuda {

class Segments {
 public:
  static constexpr std::uint32_t most = 16384;  ///< Numbers of one rank, so that the table in device memory is fixed.

  Segments(Bootstrap& bootstrap, const Place& place);

  /// What kernels look into.
  [[nodiscard]] std::byte* const (*table() const)[max_ranks] {
    return reinterpret_cast<std::byte* const(*)[max_ranks]>(table_.get());
  }

  /// Number 0: the control block and the staging of every rank. Collective; returns a fault as a text, the same
  /// on all ranks, because a team without peer access goes on without.
  [[nodiscard]] std::string add_own(std::byte* memory, Bytes bytes);
  /// Every rank's number 0; mine too. Null where mapping failed.
  [[nodiscard]] std::byte* own(int rank) const;
  /// Unmaps everything of the peers.
  void unmap();
  /// After unmap: my memory is not freed, because some peer may still have it mapped.
  void abandon();

  /// Registers memory; collective. Throws on all ranks. `owned` is freed with the segment.
  void add(std::byte* memory, Bytes bytes, DeviceMemory owned = {});
  /// The same for memory in the switch, whose peers are mapped already.
  void add(std::unique_ptr<SwitchMemory> memory);
  /// The multicast address of a place, or null.
  [[nodiscard]] std::byte* multicast(SymmetricAddress address) const;
  /// Collective; all launches of all ranks are done. `together` is false when a peer is gone: then the memory is not
  /// freed. Throws Error(usage) for memory that is not registered.
  void remove(const std::byte* memory, bool together);

  /// Where a span lies; a word of 0: in no registered memory, or in what has taken the place of registered memory that
  /// was freed.
  [[nodiscard]] SymmetricAddress find(const void* memory, Bytes bytes) const;

  /// Reserves a number for memory whose handle is exchanged later (complete). Local.
  [[nodiscard]] SymmetricAddress reserve(const void* memory, Bytes bytes);
  [[nodiscard]] std::size_t reserved() const { return reserved_.size(); }
  /// Registers all that was reserved; collective. Throws on all ranks, and forgets what was reserved.
  void complete();

 private:
  struct Segment {
    std::byte* base = nullptr;
    Bytes bytes = 0;
    std::uint64_t allocation = 0;  ///< Memory of others: its allocation_id when it became known here.
    bool complete = false;
    DeviceMemory owned;
    std::unique_ptr<SwitchMemory> in_switch;
    Mappings peers;
  };
  [[nodiscard]] std::uint32_t next_number();
  void exchange(std::uint32_t number, bool present);
  [[nodiscard]] static bool alive(const Segment& segment);
  void note_all(const std::vector<Offer>& offers, const Mappings& mappings);
  void note(std::uint32_t number, std::size_t rank, const std::byte* address);

  Bootstrap& bootstrap_;
  Place place_;
  DeviceMemory table_;
  std::vector<std::unique_ptr<Segment>> all_;  ///< By my numbers; null = free.
  std::vector<std::uint32_t> reserved_;
};

}  // namespace attune::cuda
