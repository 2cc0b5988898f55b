#include "runtime/cuda_team.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/error.h"
#include "variants/registry.h"

namespace attune::cuda {

namespace {
constexpr Bytes page = 4096;
constexpr double farewell_s = 2;
/// What CUDA maps at once: smaller allocations share a granule, and a handle would show peers the neighbours.
constexpr Bytes granule = Bytes{2} << 20;
constexpr Bytes round_up(Bytes bytes, Bytes to) { return (bytes + to - 1) / to * to; }
/// Slots of pushed shards are rounded to packs: a region is a little larger than the message.
constexpr Bytes region_bytes(Bytes scratch_bytes) { return scratch_bytes + page; }
constexpr Bytes control_bytes() { return round_up(static_cast<Bytes>(sizeof(Control)), page); }

TeamOptions checked(const Bootstrap& bootstrap, TeamOptions options) {
  if (bootstrap.size() > max_ranks)
    throw Error(Status::unsupported,
                "a team has at most 8 ranks, this communicator has " + std::to_string(bootstrap.size()),
                "use sub-communicators of up to 8 ranks");
  if (options.scratch_bytes < 1)
    throw Error(Status::usage, "options: scratch_bytes is " + std::to_string(options.scratch_bytes),
                "give 1 or more bytes");
  options.scratch_bytes = std::max(round_up(options.scratch_bytes, page), probe_bytes);
  return options;
}

/// Runs a step of set-up on all ranks; when one fails, all throw.
template <class F>
auto together(Bootstrap& bootstrap, F&& make) {
  decltype(make()) made;
  throw_together(bootstrap, attempt([&] { made = make(); }), "see nvidia-smi; use smaller buffers, or other devices");
  return made;
}
}  // namespace

CudaTeam::CudaTeam(std::unique_ptr<Bootstrap> bootstrap, const TeamOptions& options)
    : bootstrap_(std::move(bootstrap)),
      options_(checked(*bootstrap_, options)),
      stages_(*bootstrap_, static_cast<Bytes>(sizeof(std::atomic<Stage>))),
      devices_(choose_devices(*bootstrap_, options.gpu)),
      stream_(together(*bootstrap_, [&] { return std::make_unique<OwnStream>(place()); })),
      order_(place()),
      own_(together(
          *bootstrap_,
          [&] { return DeviceMemory(control_bytes() + regions * region_bytes(options_.scratch_bytes), place()); })),
      counters_(together(*bootstrap_, [&] { return DeviceMemory(sizeof(Counters), place()); })),
      failure_(together(*bootstrap_, [&] { return PinnedMemory(sizeof(Failure), place()); })),
      segments_(*bootstrap_, place()) {
  new (stages_.base(rank())) std::atomic<Stage>(Stage::here);
  open_peers();
  open_switch();
  if (bootstrap_->one_process()) preload_kernels();
  bootstrap_->barrier();  // every control block is zero and mapped before the first launch writes to it
}

/// Maps the peers' own memory and tries it. What fails here is no error: the team then has the slow path.
void CudaTeam::open_peers() {
  why_no_peers_ = devices_.unreachable;
  if (!why_no_peers_.empty()) return;
  why_no_peers_ = segments_.add_own(own_.get(), own_.bytes());
  if (why_no_peers_.empty())
    why_no_peers_ = probe_peers(*bootstrap_, segments_, control_bytes(), place(), stream_->get());
  if (why_no_peers_.empty()) return;
  segments_.unmap();
  bootstrap_->barrier();
}

/// Asks whether all ranks have multicast. Whether it works shows at the first allocation.
void CudaTeam::open_switch() {
  const char* wish = std::getenv("ATTUNE_MULTICAST");
  if (bootstrap_->one_process() || size() < 2)
    why_no_multimem_ = "needs several GPUs";
  else if (!why_no_peers_.empty())
    why_no_multimem_ = "no peer access";
  else if (wish != nullptr && std::string_view(wish) == "0")
    why_no_multimem_ = "ATTUNE_MULTICAST=0";
  else
    why_no_multimem_ = why_no_multicast(place());
  why_no_multimem_ = first_fault(*bootstrap_, why_no_multimem_);
}

/// Null when multicast objects do not work here after all: all ranks find that together, and go on without.
std::byte* CudaTeam::allocate_in_switch(Bytes bytes) {
  try {
    auto memory = std::make_unique<SwitchMemory>(*bootstrap_, round_up(bytes, page), place());
    std::byte* const at = memory->at(rank());
    segments_.add(std::move(memory));
    return at;
  } catch (const Error& error) {
    why_no_multimem_ = error.what();
    return nullptr;
  }
}

/// In one process a kernel that is loaded lazily would wait for a peer's that already runs and waits for it.
void CudaTeam::preload_kernels() {
  const std::string fault = rank() != 0 ? std::string() : attempt([&] {
    const auto load = [&](const KernelEntry& kernel) {
      cudaFuncAttributes attributes{};
      if (kernel.function != nullptr)
        check_cuda(cudaFuncGetAttributes(&attributes, kernel.function), "cudaFuncGetAttributes", place());
    };
    load(start_line_kernel());
    for (const DType dtype : all_of<DType>()) {
      for (std::size_t v = 0; v < variant_table.size(); ++v)
        if (!variant_table[v].composite) load(find_kernel(v, dtype, size()));
      for (std::size_t f = 0; f < fused_table.size(); ++f) load(find_fused_kernel(f, dtype, size()));
      load(local_reduce_kernel(dtype));
      load(local_norm_kernel(dtype));
    }
  });
  throw_together(*bootstrap_, fault, "is this build's list of architectures right for the GPU?");
}

std::atomic<CudaTeam::Stage>& CudaTeam::stage_of(int rank) const {
  return *reinterpret_cast<std::atomic<Stage>*>(stages_.base(rank));
}

void CudaTeam::lose() {
  lost_ = true;
  Stage here = Stage::here;
  stage_of(rank()).compare_exchange_strong(here, Stage::failed, std::memory_order_acq_rel);
}

bool CudaTeam::complete() const {
  for (int r = 0; r < size(); ++r)
    if (stage_of(r).load(std::memory_order_acquire) != Stage::here) return false;
  return !lost_;
}

bool CudaTeam::all_reach(Stage stage, double limit_s) const {
  const auto start = std::chrono::steady_clock::now();
  for (int r = 0; r < size(); ++r)
    while (stage_of(r).load(std::memory_order_acquire) < stage) {
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
      if (limit_s > 0 && waited.count() > limit_s) return false;
      std::this_thread::yield();
    }
  return true;
}

/// Importers close before owners free. A peer that does not come is not waited for longer than a call would be, nor for
/// long by a rank that has an error to tell; my memory is then left to it.
CudaTeam::~CudaTeam() {
  bool clean = false;
  (void)attempt([&] {
    const DeviceGuard guard(place());
    const double call_s = options_.timeout_s;  // 0: no limit
    const double limit_s = lost_ && (call_s <= 0 || call_s > farewell_s) ? farewell_s : call_s;
    const bool drained = order_.drain(lost_ ? limit_s : patience()).empty();
    stage_of(rank()).store(Stage::drained, std::memory_order_release);
    if (!drained || !all_reach(Stage::drained, limit_s)) return;
    segments_.unmap();
    stage_of(rank()).store(Stage::unmapped, std::memory_order_release);
    clean = all_reach(Stage::unmapped, limit_s);
  });
  if (clean) return;
  segments_.abandon();
  own_.abandon();
}

std::byte* CudaTeam::region(int rank, Region which) const {
  std::byte* const base = rank == this->rank() ? own_.get() : segments_.own(rank);
  return base + control_bytes() + static_cast<Bytes>(which) * region_bytes(options_.scratch_bytes);
}

std::byte* CudaTeam::allocate(Bytes bytes) {
  if (bytes < 0) throw Error(Status::usage, "allocate: negative size", "give 0 or more bytes");
  const DeviceGuard guard(place());
  wait(stream_->get());
  bootstrap_->barrier();  // an allocation may wait for the device: no peer of this process may spin on it
  if (why_no_multimem_.empty())
    if (std::byte* const at = allocate_in_switch(bytes); at != nullptr) return at;
  auto memory = together(*bootstrap_, [&] { return DeviceMemory(round_up(bytes, granule), place()); });
  std::byte* const at = memory.get();
  if (why_no_peers_.empty())
    segments_.add(at, memory.bytes(), std::move(memory));
  else
    private_.push_back(std::move(memory));
  return at;
}

void CudaTeam::release(std::byte* memory) {
  const DeviceGuard guard(place());
  const std::string fault = order_.drain(patience());
  const bool together = complete() && fault.empty();
  if (together) bootstrap_->barrier();  // nobody reads or writes it any more
  const auto mine = std::ranges::find_if(private_, [&](const DeviceMemory& one) { return one.get() == memory; });
  if (mine != private_.end())
    private_.erase(mine);
  else
    segments_.remove(memory, together);
}

void CudaTeam::register_buffer(std::byte* memory, Bytes bytes) {
  const DeviceGuard guard(place());
  if (!why_no_peers_.empty())
    throw Error(Status::unsupported, "register_buffer: no peer access: " + why_no_peers_,
                "use any device memory: calls take the slow path");
  bootstrap_->barrier();
  segments_.add(memory, bytes);
}

void CudaTeam::complete_capture() {
  const DeviceGuard guard(place());
  segments_.complete();
}

cudaStream_t CudaTeam::stream_of(void* given) const {
  return given != nullptr ? static_cast<cudaStream_t>(given) : stream_->get();
}

int CudaTeam::co_resident(const KernelEntry& kernel, int threads) {
  for (const auto& one : resident_)
    if (one.function == kernel.function && one.threads == threads) return one.blocks;
  int per_multiprocessor = 0;
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel.function, threads, 0),
             "cudaOccupancyMaxActiveBlocksPerMultiprocessor", place());
  if (!devices_.alike) per_multiprocessor = std::min(per_multiprocessor, 1);  // what every kernel is bounded to
  if (per_multiprocessor < 1)
    throw Error(Status::unsupported,
                fmt::format("{}: no block of {} threads fits on device {}", kernel.name, threads, place().device),
                "use fewer threads");
  const int blocks = std::max(1, per_multiprocessor * devices_.multiprocessors / devices_.ranks_per_device);
  resident_.push_back({kernel.function, threads, blocks});
  return blocks;
}

void CudaTeam::wait(cudaStream_t stream) {
  const DeviceGuard guard(place());
  const std::string fault = wait_bounded(stream, patience(), place());
  check_failure();
  if (fault.empty()) return;
  lose();
  throw Error(fault.find("no answer") != std::string::npos ? Status::timeout : Status::device, fault,
              "make a new communicator on all ranks");
}

}  // namespace attune::cuda
