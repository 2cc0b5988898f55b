#pragma once
/// A rank's memory as its peers address it: CUDA IPC between processes, the pointer itself between threads.
#include <array>
#include <string>

#include "runtime/bootstrap.h"
#include "runtime/cuda_memory.h"

namespace attune::cuda {

/// What a rank offers: plain data, sent as it is.
struct Offer {
  cudaIpcMemHandle_t handle{};  ///< Of the whole allocation,
  std::uint64_t offset = 0;     ///< in which the memory begins here.
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  ///< For threads of the same process.
  std::uint32_t segment = 0;  ///< The owner's number for it.
  std::uint32_t present = 0;  ///< 0: this rank offers nothing this time.
};

/// An offer of this rank's `memory`, which may begin anywhere inside its allocation. Throws Error(unsupported) when
/// other processes cannot map it, Error(device) when CUDA fails.
[[nodiscard]] Offer make_offer(std::byte* memory, Bytes bytes, std::uint32_t segment, bool one_process,
                               const Place& place);

/// One peer's memory, mapped here until the object goes.
class Mapping {
 public:
  Mapping() = default;
  /// A handle is never opened by the process that made it: `one_process` takes the address. Throws Error(device).
  Mapping(const Offer& offer, int owner, bool one_process, const Place& place);
  ~Mapping() { close(); }
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept;

  [[nodiscard]] std::byte* get() const { return at_; }

 private:
  void close();
  std::byte* at_ = nullptr;
  void* opened_ = nullptr;  ///< What CUDA gave: the base of the allocation.
};
using Mappings = std::array<Mapping, max_ranks>;

/// The first rank's text that is not empty, on every rank. Collective: for what is no error, as throw_together is for
/// what is.
[[nodiscard]] std::string first_fault(Bootstrap& bootstrap, const std::string& mine);

/// Maps what all peers offer; mine and absent ones stay empty. Returns the first fault as a text, for the ranks to
/// compare notes.
[[nodiscard]] std::string map_offers(const std::vector<Offer>& offers, int rank, bool one_process, const Place& place,
                                     Mappings& mappings);

}  // namespace attune::cuda
