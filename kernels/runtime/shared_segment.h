#pragma once
/// Memory that every rank of a team can address: one region per rank, mapped by all.
#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "core/types.h"
#include "runtime/bootstrap.h"

namespace attune::host {

class SharedSegment {
 public:
  /// Collective: every rank makes a region of its own `bytes` (they may differ), zeroed, and maps its peers'.
  /// Throws Error(device) on all ranks when one of them cannot, or when the node does not have what all need together
  /// (before anything is allocated), naming what is needed and what is free. Error(unsupported) for more than 8 ranks.
  SharedSegment(Bootstrap& bootstrap, Bytes bytes);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  /// Rank's region in this process.
  [[nodiscard]] std::byte* base(int rank) const { return base_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Bytes bytes(int rank) const { return bytes_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::array<std::byte*, max_ranks>& bases() const { return base_; }

 private:
  void agree_on_sizes(Bootstrap& bootstrap, Bytes bytes);
  void share_within_process(Bootstrap& bootstrap, Bytes bytes);
  void share_between_processes(Bootstrap& bootstrap, Bytes bytes);
  void unmap();

  int rank_ = 0;
  int ranks_ = 1;
  bool one_process_ = false;
  std::array<std::byte*, max_ranks> base_{};
  std::array<Bytes, max_ranks> bytes_{};
  /// Threads keep each other's regions, as mappings of processes do: a rank that has failed may leave while a peer
  /// still waits for it.
  std::array<std::shared_ptr<std::byte>, max_ranks> kept_;
};

}  // namespace attune::host
