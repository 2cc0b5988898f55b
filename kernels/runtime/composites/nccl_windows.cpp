#include "runtime/composites/nccl_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/cuda_memory.h"
#include "runtime/cuda_peers.h"
#include "runtime/symmetric_memory.h"

namespace attune::cuda {

namespace {
struct Block {
  Place place{};
  void* at = nullptr;
  std::size_t bytes = 0;
  std::vector<std::pair<ncclComm_t, ncclWindow_t>> windows{};
};

/// In the order in which they were made.
struct Blocks {
  std::mutex mutex;
  std::list<Block> list;
};
Blocks& blocks() {
  static Blocks all;
  return all;
}

Place here() {
  Place place{-1, 0};
  check_cuda(cudaGetDevice(&place.device), "cudaGetDevice", place);
  return place;
}

/// Windows end before their memory does.
void give_back(std::list<Block>::iterator block) {
  const std::scoped_lock lock(blocks().mutex);
  for (const auto& [comm, window] : block->windows) (void)nccl().window_deregister(comm, window);
  (void)nccl().mem_free(block->at);
  blocks().list.erase(block);
}

void fill_with_zeros(const Block& block) {
  check_cuda(cudaMemsetAsync(block.at, 0, block.bytes, cudaStreamPerThread), "cudaMemsetAsync", block.place);
  check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize", block.place);
}
}  // namespace

std::string why_no_symmetric_memory() {
  const NcclLibrary& library = nccl();
  if (!library.missing.empty()) return library.missing;
  const bool whole = library.mem_alloc != nullptr && library.mem_free != nullptr;
  if (whole && library.window_register != nullptr && library.window_deregister != nullptr) return {};
  return fmt::format("{} has no ncclCommWindowRegister, which came with NCCL 2.27", library.version);
}

std::shared_ptr<std::byte> symmetric_memory(Bytes bytes) {
  if (const std::string reason = why_no_symmetric_memory(); !reason.empty())
    throw Error(Status::unsupported, "no symmetric memory: " + reason, "use the variant vendor");
  Block made{.place = here(), .bytes = static_cast<std::size_t>(std::max<Bytes>(bytes, 1))};
  if (const std::string fault = fault_of(nccl().mem_alloc(&made.at, made.bytes), "ncclMemAlloc", made.place);
      !fault.empty())
    throw Error(Status::device, fault, "use smaller buffers");
  auto& list = blocks().list;
  const auto block = [&] {
    const std::scoped_lock lock(blocks().mutex);
    return list.insert(list.end(), std::move(made));
  }();
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(block->at), [block](std::byte*) { give_back(block); });
  fill_with_zeros(*block);
  return memory;
}

std::string register_windows(ncclComm_t comm, Bootstrap& bootstrap, const Place& place, bool& refused) {
  const std::scoped_lock lock(blocks().mutex);
  std::vector<Block*> mine;
  for (Block& block : blocks().list)
    if (block.place.device == place.device) mine.push_back(&block);
  const auto counts = bootstrap.gather(mine.size());
  if (std::ranges::count(counts, mine.size()) != std::ssize(counts))
    return "the ranks have not made the same number of symmetric buffers";
  for (Block* block : mine) {
    ncclWindow_t window = nullptr;
    const auto code = nccl().window_register(comm, block->at, block->bytes, &window, NCCL_WIN_COLL_SYMMETRIC);
    std::string fault = fault_of(code, "ncclCommWindowRegister", place);
    const bool none = fault.empty() && window == nullptr;  // how NCCL says that these GPUs, or its settings, have none
    if (none) fault = "NCCL makes no symmetric windows here (it needs NVLink between all GPUs, and NCCL_WIN_ENABLE=1)";
    if (window != nullptr) block->windows.emplace_back(comm, window);
    const auto all = bootstrap.gather(none || refuses(code) ? 1 : 0);
    refused = std::ranges::find(all, 0) == all.end();
    fault = first_fault(bootstrap, fault);
    if (!fault.empty()) return fault;
  }
  return {};
}

void forget_windows(ncclComm_t comm) {
  const std::scoped_lock lock(blocks().mutex);
  for (Block& block : blocks().list)
    std::erase_if(block.windows, [&](const auto& window) { return window.first == comm; });
}

}  // namespace attune::cuda
