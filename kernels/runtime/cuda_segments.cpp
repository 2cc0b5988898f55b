#include "runtime/cuda_segments.h"

#include <fmt/format.h>

#include <algorithm>

namespace attune::cuda {

Segments::Segments(Bootstrap& bootstrap, const Place& place)
    : bootstrap_(bootstrap), place_(place), table_(static_cast<Bytes>(most * max_ranks * sizeof(std::byte*)), place) {}

/// A peer's address into my device's table. Blocking, so that the next launch of any stream finds it.
void Segments::note(std::uint32_t number, std::size_t rank, const std::byte* address) {
  auto* entry = table_.get() + (number * max_ranks + rank) * sizeof(std::byte*);
  check_cuda(cudaMemcpyAsync(entry, &address, sizeof address, cudaMemcpyDefault, cudaStreamPerThread),
             "cudaMemcpyAsync", place_);
  check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize", place_);
}

void Segments::note_all(const std::vector<Offer>& offers, const Mappings& mappings) {
  for (std::size_t r = 0; r < offers.size(); ++r)
    if (mappings[r].get() != nullptr) note(offers[r].segment, r, mappings[r].get());
}

std::uint32_t Segments::next_number() {
  std::size_t number = 1;  // 0 is own memory
  while (number < all_.size() && all_[number] != nullptr) ++number;
  if (number >= most)
    throw Error(Status::unsupported, fmt::format("rank {} has registered {} buffers", place_.rank, most - 1),
                "register whole pools instead of single buffers");
  if (number >= all_.size()) all_.resize(number + 1);
  return static_cast<std::uint32_t>(number);
}

/// Is it still the memory that it was? What others have freed may have been given out again, and peers have mapped what
/// it was.
bool Segments::alive(const Segment& segment) {
  return segment.allocation == 0 || allocation_id(segment.base) == segment.allocation;
}

/// Offers segment `number`, maps the peers' and notes them. Throws on all ranks.
void Segments::exchange(std::uint32_t number, bool present) {
  Offer mine;
  Status status = Status::device;
  std::string fault;
  try {
    if (present) {
      const Segment& segment = *all_[number];
      if (!alive(segment))
        throw Error(Status::usage,
                    fmt::format("rank {}: a buffer of a captured call was freed before complete_capture", place_.rank),
                    "keep captured buffers as long as the graph");
      mine = make_offer(segment.base, segment.bytes, number, bootstrap_.one_process(), place_);
    }
  } catch (const Error& error) {
    status = error.status();
    fault = error.what();
  }
  const auto codes = bootstrap_.gather(fault.empty() ? 0 : static_cast<int>(status));
  try {
    throw_together(bootstrap_, fault, {});
  } catch (const Error& error) {  // with the status of the rank that failed
    const auto bad = std::ranges::find_if(codes, [](int code) { return code != 0; });
    throw Error(static_cast<Status>(*bad), error.what());
  }
  const auto offers = bootstrap_.gather(mine);
  Mappings mappings;
  fault = map_offers(offers, place_.rank, bootstrap_.one_process(), place_, mappings);
  if (fault.empty()) fault = attempt([&] { note_all(offers, mappings); });
  throw_together(bootstrap_, fault, "see ATTUNE_LOG=dispatch for what this machine can do");
  if (number < all_.size() && all_[number] != nullptr) {
    all_[number]->peers = std::move(mappings);
    all_[number]->complete = true;
  }
}

std::string Segments::add_own(std::byte* memory, Bytes bytes) {
  if (all_.empty()) all_.resize(1);
  all_[0] = std::make_unique<Segment>();
  all_[0]->base = memory;
  all_[0]->bytes = bytes;
  Offer mine;
  std::string fault = attempt([&] { mine = make_offer(memory, bytes, 0, bootstrap_.one_process(), place_); });
  fault = first_fault(bootstrap_, fault);
  if (!fault.empty()) return fault;
  const auto offers = bootstrap_.gather(mine);
  fault = map_offers(offers, place_.rank, bootstrap_.one_process(), place_, all_[0]->peers);
  if (fault.empty()) fault = attempt([&] { note_all(offers, all_[0]->peers); });
  all_[0]->complete = true;
  return first_fault(bootstrap_, fault);
}

std::byte* Segments::own(int rank) const {
  return rank == place_.rank ? all_[0]->base : all_[0]->peers[static_cast<std::size_t>(rank)].get();
}

void Segments::unmap() {
  for (auto& segment : all_) {
    if (segment == nullptr) continue;
    segment->peers = {};
    if (segment->in_switch != nullptr) segment->in_switch->unmap_peers();
  }
}

void Segments::abandon() {
  for (auto& segment : all_) {
    if (segment == nullptr) continue;
    segment->owned.abandon();
    if (segment->in_switch != nullptr) segment->in_switch->abandon();
  }
}

void Segments::add(std::byte* memory, Bytes bytes, DeviceMemory owned) {
  std::uint32_t number = 0;
  throw_together(bootstrap_, attempt([&] { number = next_number(); }), {});
  all_[number] = std::make_unique<Segment>();
  all_[number]->base = memory;
  all_[number]->bytes = bytes;
  if (owned.get() == nullptr) all_[number]->allocation = allocation_id(memory);
  all_[number]->owned = std::move(owned);
  try {
    exchange(number, true);
  } catch (...) {
    all_[number].reset();
    throw;
  }
}

void Segments::add(std::unique_ptr<SwitchMemory> memory) {
  std::uint32_t number = 0;
  throw_together(bootstrap_, attempt([&] { number = next_number(); }), {});
  const auto numbers = bootstrap_.gather(number);
  const std::string fault = attempt([&] {
    for (std::size_t r = 0; r < numbers.size(); ++r)
      if (static_cast<int>(r) != place_.rank) note(numbers[r], r, memory->at(static_cast<int>(r)));
  });
  throw_together(bootstrap_, fault, {});
  all_[number] = std::make_unique<Segment>();
  all_[number]->base = memory->at(place_.rank);
  all_[number]->bytes = memory->bytes();
  all_[number]->in_switch = std::move(memory);
  all_[number]->complete = true;
}

std::byte* Segments::multicast(SymmetricAddress address) const {
  const std::size_t number = address.segment();
  if (address.word == 0 || number >= all_.size() || all_[number] == nullptr || all_[number]->in_switch == nullptr)
    return nullptr;
  return all_[number]->in_switch->multicast() + address.offset();
}

void Segments::remove(const std::byte* memory, bool together) {
  for (std::size_t number = 1; number < all_.size(); ++number) {
    if (all_[number] == nullptr || all_[number]->base != memory || !all_[number]->complete) continue;
    Segment& segment = *all_[number];
    segment.peers = {};  // importers close before the owner frees
    if (segment.in_switch != nullptr) segment.in_switch->unmap_peers();
    if (together) bootstrap_.barrier();
    if (!together) segment.owned.abandon();
    if (!together && segment.in_switch != nullptr) segment.in_switch->abandon();
    all_[number].reset();
    return;
  }
  throw Error(Status::usage, "this memory is not registered with this communicator", "release each buffer once");
}

SymmetricAddress Segments::find(const void* memory, Bytes bytes) const {
  const auto* at = static_cast<const std::byte*>(memory);
  for (std::size_t number = 1; number < all_.size(); ++number) {
    const Segment* segment = all_[number].get();
    if (segment == nullptr || !segment->complete || at < segment->base || at + bytes > segment->base + segment->bytes)
      continue;
    if (alive(*segment)) return SymmetricAddress::make(number, static_cast<std::uint64_t>(at - segment->base));
  }
  return {};
}

SymmetricAddress Segments::reserve(const void* memory, Bytes bytes) {
  const auto* at = static_cast<const std::byte*>(memory);
  const auto inside = [&](const Segment& segment) {
    return at >= segment.base && at + bytes <= segment.base + segment.bytes;
  };
  auto known = std::ranges::find_if(reserved_, [&](std::uint32_t number) { return inside(*all_[number]); });
  if (known == reserved_.end()) {
    const std::uint32_t number = next_number();
    const Allocation allocation = allocation_of(memory, "the buffer", place_);
    all_[number] = std::make_unique<Segment>();
    all_[number]->base = allocation.base != nullptr ? allocation.base : const_cast<std::byte*>(at);
    all_[number]->bytes = allocation.base != nullptr ? allocation.bytes : bytes;
    all_[number]->allocation = allocation_id(memory);
    reserved_.push_back(number);
    known = reserved_.end() - 1;
  }
  return SymmetricAddress::make(*known, static_cast<std::uint64_t>(at - all_[*known]->base));
}

void Segments::complete() {
  const auto counts = bootstrap_.gather(reserved_.size());
  const std::size_t rounds = *std::ranges::max_element(counts);
  const auto mine = std::exchange(reserved_, {});
  for (std::size_t k = 0; k < rounds; ++k) {
    const bool present = k < mine.size();
    try {
      exchange(present ? mine[k] : most, present);
    } catch (...) {
      for (std::size_t rest = k; rest < mine.size(); ++rest) all_[mine[rest]].reset();
      throw;
    }
  }
}

}  // namespace attune::cuda
