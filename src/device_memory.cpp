#include "src/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/cuda_device.h"
#include "runtime/cuda_timing.h"
#include "src/mpi_session.h"
#include "src/sweep_world.h"

namespace attune::driver {

void require_gpu_alone() {
  if (!is_launched()) cuda::require_device();
}

void require_gpus(MpiSession& session) {
  const auto reasons = gather_texts(session, cuda::why_no_device());
  const auto without = std::ranges::find_if(reasons, [](const std::string& reason) { return !reason.empty(); });
  if (without == reasons.end()) return;
  const bool all = std::ranges::none_of(reasons, [](const std::string& reason) { return reason.empty(); });
  const std::string who = all ? "" : fmt::format("rank {}: ", without - reasons.begin());
  throw Error(Status::device, who + "no CUDA device: " + *without, "run on the CPUs with --device host, the default");
}

std::shared_ptr<std::byte> plain_memory(DeviceKind device, Bytes bytes) {
  if (device == DeviceKind::cuda) return cuda::local_memory(bytes);
  constexpr Bytes page = 4096;
  const auto size = static_cast<std::size_t>((std::max<Bytes>(bytes, 1) + page - 1) / page * page);
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(std::aligned_alloc(page, size)), &std::free);
  if (memory == nullptr)
    throw Error(Status::device, fmt::format("cannot allocate {} bytes for a message", bytes), "use smaller sizes");
  std::memset(memory.get(), 0, size);  // touched by its owner
  return memory;
}

HostImage::HostImage(Communicator& comm, void* memory, Bytes bytes, Bytes margin)
    : memory_(static_cast<std::byte*>(memory)), at_(memory_), bytes_(bytes), margin_(margin) {
  if (memory == nullptr || comm.device() == DeviceKind::host) return;
  comm_ = &comm;
  copy_ = cuda::pinned_memory(bytes + 2 * margin);
  at_ = copy_.get() + margin;
}

void HostImage::upload() {
  if (comm_ != nullptr) comm_->copy(memory_ - margin_, at_ - margin_, bytes_ + 2 * margin_);
}

void HostImage::download() {
  if (comm_ != nullptr) comm_->copy(at_ - margin_, memory_ - margin_, bytes_ + 2 * margin_);
}

}  // namespace attune::driver
