#pragma once
/// Memory that calls work on, and what the host sees of it: the memory itself on host, a copy on cuda.
#include <cstddef>
#include <memory>

#include "attune/attune.hpp"

namespace attune::driver {

class MpiSession;

/// Before MPI starts: throws Error(device) where there is no GPU. Under a launcher it asks nothing: a rank that leaves
/// before MPI_Init, be it the one without a GPU, keeps the others waiting there; require_gpus asks then.
void require_gpu_alone();
/// Throws the same Error(device) on all ranks when one has no GPU; names it unless all have none. Collective.
void require_gpus(MpiSession& session);

/// Zeroed memory of this rank alone: plain memory on page boundaries, or device memory. Throws Error(device).
[[nodiscard]] std::shared_ptr<std::byte> plain_memory(DeviceKind device, Bytes bytes);

/// A span of a device's memory as the host reads and writes it.
class HostImage {
 public:
  HostImage() = default;
  /// Of `bytes` at `memory`, and `margin` bytes before and behind them.
  HostImage(Communicator& comm, void* memory, Bytes bytes, Bytes margin);

  /// Where `memory` begins in the image; null when there is none.
  [[nodiscard]] std::byte* data() const { return at_; }
  /// To the device, and back. Blocking; nothing to do on host.
  void upload();
  void download();

 private:
  Communicator* comm_ = nullptr;  ///< Null: the image is the memory.
  std::byte* memory_ = nullptr;
  std::byte* at_ = nullptr;
  Bytes bytes_ = 0;
  Bytes margin_ = 0;
  std::shared_ptr<std::byte> copy_;
};

}  // namespace attune::driver
