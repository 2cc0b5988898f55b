#include "runtime/cuda_peers.h"

#include <fmt/format.h>

#include <utility>

namespace attune::cuda {

Offer make_offer(std::byte* memory, Bytes bytes, std::uint32_t segment, bool one_process, const Place& place) {
  Offer offer;
  offer.bytes = static_cast<std::uint64_t>(bytes);
  offer.address = reinterpret_cast<std::uint64_t>(memory);
  offer.segment = segment;
  offer.present = 1;
  if (one_process) return offer;
  const Allocation allocation = allocation_of(memory, "the buffer", place);
  if (!allocation.why_private.empty())
    throw Error(Status::unsupported,
                fmt::format("rank {}: peers cannot map this buffer: {}", place.rank, allocation.why_private),
                "use memory from allocate or cudaMalloc, or leave it unregistered: it is then staged");
  offer.offset = static_cast<std::uint64_t>(memory - allocation.base);
  check_cuda(cudaIpcGetMemHandle(&offer.handle, allocation.base), "cudaIpcGetMemHandle", place);
  return offer;
}

Mapping::Mapping(const Offer& offer, int owner, bool one_process, const Place& place) {
  if (one_process) {
    at_ = reinterpret_cast<std::byte*>(offer.address);
    return;
  }
  const std::string call = fmt::format("cudaIpcOpenMemHandle (memory of rank {})", owner);
  check_cuda(cudaIpcOpenMemHandle(&opened_, offer.handle, cudaIpcMemLazyEnablePeerAccess), call.c_str(), place);
  at_ = static_cast<std::byte*>(opened_) + offer.offset;
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(at_, other.at_);
  std::swap(opened_, other.opened_);
  return *this;
}

void Mapping::close() {
  if (opened_ != nullptr) (void)cudaIpcCloseMemHandle(opened_);
  opened_ = nullptr;
  at_ = nullptr;
}

std::string first_fault(Bootstrap& bootstrap, const std::string& mine) {
  std::array<char, 384> text{};
  mine.copy(text.data(), text.size() - 1);
  for (const auto& one : bootstrap.gather(text))
    if (one.front() != '\0') return one.data();
  return {};
}

std::string map_offers(const std::vector<Offer>& offers, int rank, bool one_process, const Place& place,
                       Mappings& mappings) {
  return attempt([&] {
    for (int r = 0; r < static_cast<int>(offers.size()); ++r) {
      const Offer& offer = offers[static_cast<std::size_t>(r)];
      if (r != rank && offer.present != 0)
        mappings[static_cast<std::size_t>(r)] = Mapping(offer, r, one_process, place);
    }
  });
}

}  // namespace attune::cuda
