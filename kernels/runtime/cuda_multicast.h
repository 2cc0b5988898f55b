#pragma once
/// Memory that the switch can add up and write everywhere (NVLink SHARP): one allocation per rank, bound to a multicast
/// object, through the driver's virtual-memory interface, which is looked up at run time.
#include <array>
#include <string>
#include <vector>

#include "core/types.h"
#include "runtime/bootstrap.h"
#include "runtime/cuda_check.h"

namespace attune::cuda {

/// Empty, or why this process' device cannot take part in a multicast object.
[[nodiscard]] std::string why_no_multicast(const Place& place);

class SwitchMemory {
 public:
  /// Collective: `bytes` of every rank (the most that any asks for), zeroed, mapped by all and bound to one multicast
  /// object. Throws Error(device) on all ranks when one cannot.
  SwitchMemory(Bootstrap& bootstrap, Bytes bytes, const Place& place);
  ~SwitchMemory();
  SwitchMemory(const SwitchMemory&) = delete;
  SwitchMemory& operator=(const SwitchMemory&) = delete;

  /// A rank's memory as this device addresses it, and all ranks' at once.
  [[nodiscard]] std::byte* at(int rank) const { return mapped_[static_cast<std::size_t>(rank)].at; }
  [[nodiscard]] std::byte* multicast() const { return multicast_.at; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// Unmaps what is not mine, before owners free.
  void unmap_peers();
  /// Nothing is freed any more: a peer may still have it mapped.
  void abandon() { abandoned_ = true; }

 private:
  /// A handle of the driver (CUmemGenericAllocationHandle) and where it is mapped.
  struct Mapped {
    unsigned long long handle = 0;
    std::byte* at = nullptr;
  };
  void create(const std::vector<Bytes>& wanted);
  void share(Bootstrap& bootstrap);
  void join(Bootstrap& bootstrap);
  void map(Mapped& memory) const;
  void unmap(Mapped& memory) const;

  Place place_;
  int ranks_;
  Bytes bytes_ = 0;
  std::array<Mapped, 8> mapped_{};
  Mapped multicast_{};
  bool bound_ = false;
  bool abandoned_ = false;
};

}  // namespace attune::cuda
