#include "runtime/cuda_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/cuda_device.h"
#include "runtime/cuda_launch.h"

namespace attune::cuda {

namespace {
constexpr double probe_limit_s = 30;
constexpr Bytes page = 4096;
constexpr Index page_words = page / 4;

/// What a rank tells of its device: plain data.
struct DeviceNote {
  std::array<char, 40> uuid{};
  std::array<char, 16> arch{};
  int multiprocessors = 0;
};

DeviceNote note_of(int ordinal) {
  const auto all = devices();
  const DeviceInfo& info = all.at(static_cast<std::size_t>(ordinal));
  DeviceNote note;
  info.uuid.copy(note.uuid.data(), note.uuid.size() - 1);
  info.arch.copy(note.arch.data(), note.arch.size() - 1);
  note.multiprocessors = info.multiprocessors;
  return note;
}

int pick(const Bootstrap& bootstrap, int wanted) {
  if (const std::string reason = why_no_device(); !reason.empty())
    throw Error(Status::device, fmt::format("rank {}: no CUDA device: {}", bootstrap.rank(), reason),
                "run on the CPUs with --device host, the default");
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount", {bootstrap.rank(), -1});
  if (wanted >= count)
    throw Error(Status::device,
                fmt::format("rank {}: there is no device {}, only {}", bootstrap.rank(), wanted, count));
  if (wanted >= 0) return wanted;
  return bootstrap.one_process() ? 0 : local_rank(bootstrap.rank()) % count;
}

/// Two processes on one GPU take turns: a kernel that waits for the other's would wait for its whole time slice.
std::string shared_device(const std::vector<DeviceNote>& notes) {
  for (std::size_t a = 0; a < notes.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (notes[a].uuid == notes[b].uuid)
        return fmt::format("ranks {} and {} drive the same GPU ({})", b, a, notes[a].uuid.data());
  return {};
}

/// What CUDA says of my access to the peers' devices that this process sees. It cannot be asked about hidden ones
/// (CUDA_VISIBLE_DEVICES): those are tried all the same.
std::string ask_cuda(const std::vector<DeviceNote>& notes, const Place& place) {
  const auto visible = devices();
  for (std::size_t r = 0; r < notes.size(); ++r) {
    const std::string_view uuid(notes[r].uuid.data());
    const auto peer = std::ranges::find_if(visible, [&](const DeviceInfo& info) { return info.uuid == uuid; });
    if (static_cast<int>(r) == place.rank || peer == visible.end() || peer->ordinal == place.device) continue;
    int reach = 0;
    check_cuda(cudaDeviceCanAccessPeer(&reach, place.device, peer->ordinal), "cudaDeviceCanAccessPeer", place);
    if (reach == 0)
      return fmt::format("device {} of rank {} cannot reach device {} of rank {}", place.device, place.rank,
                         peer->ordinal, r);
  }
  return {};
}
}  // namespace

int local_rank(int fallback) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
                           "PMI_LOCAL_RANK", "SLURM_LOCALID"})
    if (const char* value = std::getenv(name)) return std::max(0, std::atoi(value));
  return fallback;
}

Devices choose_devices(Bootstrap& bootstrap, int wanted) {
  Devices chosen;
  chosen.place.rank = bootstrap.rank();
  DeviceNote mine;
  const std::string fault = attempt([&] {
    chosen.place.device = pick(bootstrap, wanted);
    check_cuda(cudaSetDevice(chosen.place.device), "cudaSetDevice", chosen.place);
    mine = note_of(chosen.place.device);
  });
  throw_together(bootstrap, fault, {});
  const auto notes = bootstrap.gather(mine);
  chosen.multiprocessors = mine.multiprocessors;
  for (const DeviceNote& note : notes) {
    chosen.multiprocessors = std::min(chosen.multiprocessors, note.multiprocessors);
    chosen.alike = chosen.alike && note.arch == mine.arch && note.multiprocessors == mine.multiprocessors;
  }
  if (bootstrap.one_process()) {
    chosen.ranks_per_device = bootstrap.size();
    return chosen;
  }
  throw_together(bootstrap, shared_device(notes), "start at most one rank per GPU");
  std::string unreachable;
  throw_together(bootstrap, attempt([&] { unreachable = ask_cuda(notes, chosen.place); }), {});
  chosen.unreachable = first_fault(bootstrap, unreachable);
  return chosen;
}

std::string wait_bounded(cudaStream_t stream, double limit_s, const Place& place) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const cudaError_t code = cudaStreamQuery(stream);
    if (code != cudaErrorNotReady) return fault_of(code, "cudaStreamQuery", place);
    (void)cudaGetLastError();
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (limit_s > 0 && waited.count() > limit_s)
      return fmt::format("rank {}, device {}: no answer within {:.0f} s", place.rank, place.device, limit_s);
    std::this_thread::yield();
  }
}

namespace {
/// One rank's part of the probe. The area is a page of a pattern to read, then a page per sender to write.
class Probe {
 public:
  Probe(const Segments& segments, Bytes offset, int ranks, const Place& place, cudaStream_t stream)
      : segments_(segments), offset_(offset), ranks_(ranks), place_(place), stream_(stream) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = pattern(place.rank, i);
  }

  void lay_out() {
    copy(area(place_.rank), words_.data(), page);
    wait();
  }
  /// Reads every peer's pattern with a kernel, and writes mine into its page for me.
  void reach_out() {
    const DeviceMemory landing(page, place_);
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer == place_.rank) continue;
      move(area(peer), landing.get());
      expect(landing.get(), peer, fmt::format("rank {} read wrong data from rank {}", place_.rank, peer));
      move(area(place_.rank), area(peer) + (1 + place_.rank) * page);
    }
    wait();
  }
  void check_arrivals() {
    for (int peer = 0; peer < ranks_; ++peer)
      if (peer != place_.rank)
        expect(area(place_.rank) + (1 + peer) * page, peer,
               fmt::format("what rank {} wrote did not arrive at rank {}", peer, place_.rank));
  }

 private:
  static std::uint32_t pattern(int rank, std::size_t i) {
    return static_cast<std::uint32_t>((i + 1) * 2654435761U) ^ (static_cast<std::uint32_t>(rank + 1) << 24);
  }
  [[nodiscard]] std::byte* area(int rank) const { return segments_.own(rank) + offset_; }
  void wait() {
    if (const std::string fault = wait_bounded(stream_, probe_limit_s, place_); !fault.empty())
      throw Error(Status::device, fault);
  }
  void copy(void* to, const void* from, Bytes bytes) {
    check_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_),
               "cudaMemcpyAsync", place_);
  }
  /// A page by loads and stores of a kernel, the way that collectives take; copies may take another.
  void move(std::byte* from, std::byte* to) {
    Launch launch;
    launch.count = page_words;
    launch.at.in.at[0] = from;
    launch.at.out.at[0] = to;
    const KernelEntry kernel = local_reduce_kernel(DType::u32);
    void* arguments[] = {&launch};
    check_cuda(cudaLaunchKernel(kernel.function, dim3(1), dim3(32), arguments, 0, stream_), "cudaLaunchKernel", place_);
  }
  void expect(const std::byte* memory, int rank, const std::string& fault) {
    std::array<std::uint32_t, page_words> seen{};
    copy(seen.data(), memory, page);
    wait();
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i] != pattern(rank, i)) throw Error(Status::device, fault);
  }

  const Segments& segments_;
  Bytes offset_;
  int ranks_;
  Place place_;
  cudaStream_t stream_;
  std::array<std::uint32_t, page_words> words_{};
};
}  // namespace

std::string probe_peers(Bootstrap& bootstrap, const Segments& segments, Bytes offset, const Place& place,
                        cudaStream_t stream) {
  Probe probe(segments, offset, bootstrap.size(), place, stream);
  for (const auto step : {&Probe::lay_out, &Probe::reach_out, &Probe::check_arrivals})  // a barrier behind each
    if (std::string fault = first_fault(bootstrap, attempt([&] { (probe.*step)(); })); !fault.empty()) return fault;
  return {};
}

}  // namespace attune::cuda
