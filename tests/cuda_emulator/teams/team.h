#pragma once
/// A team of ranks on one device, as the kernels' contract (runtime/cuda_launch.h) wants it and nothing more: memory,
/// a stream for each rank, launches. Kernels are tested here without the runtime around them.
#include <cuda_runtime_api.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/cuda_launch.h"
#include "variants/registry.h"

namespace attune::emulated {

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

/// Memory that is released with its owner.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes, bool zero = false) : bytes_(bytes) {
    void* p = nullptr;
    check(cudaMalloc(&p, bytes), "cudaMalloc");
    data_ = static_cast<std::byte*>(p);
    if (zero) check(cudaMemset(p, 0, bytes), "cudaMemset");
  }
  ~DeviceBytes() { cudaFree(data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

/// Pinned memory: copies to it do not wait.
class PinnedBytes {
 public:
  explicit PinnedBytes(std::size_t bytes) {
    void* p = nullptr;
    check(cudaHostAlloc(&p, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
    std::memset(p, 0, bytes);
    data_ = static_cast<std::byte*>(p);
  }
  ~PinnedBytes() { cudaFreeHost(data_); }
  PinnedBytes(const PinnedBytes&) = delete;
  PinnedBytes& operator=(const PinnedBytes&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// Three slots of a whole message for each of up to three blocks, and what rounding of shards to packs adds.
constexpr std::size_t region_bytes(std::size_t capacity) { return 9 * (capacity + 1024); }

/// One rank's memory. `capacity`: bytes of the largest message.
struct TeamRank {
  explicit TeamRank(std::size_t capacity)
      : in(capacity + 64),
        out(capacity + 64),
        second_out(capacity + 64),
        scratch(region_bytes(capacity)),
        inbox(region_bytes(capacity)),
        control(sizeof(cuda::Control), true),
        counters(sizeof(cuda::Counters), true),
        segments(4 * sizeof(std::byte* [max_ranks]), true),
        failure(sizeof(cuda::Failure)) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~TeamRank() { cudaStreamDestroy(stream); }
  TeamRank(const TeamRank&) = delete;
  TeamRank& operator=(const TeamRank&) = delete;
  [[nodiscard]] const cuda::Failure& failed() const { return *reinterpret_cast<const cuda::Failure*>(failure.data()); }

  DeviceBytes in, out, second_out, scratch, inbox, control, counters, segments;
  PinnedBytes failure;
  cudaStream_t stream = nullptr;
};

class Team {
 public:
  Team(int ranks, std::size_t capacity) {
    for (int r = 0; r < ranks; ++r) ranks_.push_back(std::make_unique<TeamRank>(capacity));
    for (int r = 0; r < ranks; ++r) fill_segments(r);
  }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] TeamRank& operator[](int rank) const { return *ranks_[static_cast<std::size_t>(rank)]; }

  /// A launch of `rank`. Peers' buffers are known, or (`by_record`) learned from the peers' records.
  [[nodiscard]] cuda::Launch launch_of(int rank, bool by_record, bool in_place) const {
    TeamRank& mine = (*this)[rank];
    cuda::Launch launch;
    launch.rank = rank;
    launch.ranks = size();
    launch.counters = mine.counters.as<cuda::Counters>();
    launch.failure = reinterpret_cast<cuda::Failure*>(mine.failure.data());
    launch.timeout_ns = 60'000'000'000;
    launch.segment = mine.segments.as<std::byte* const[max_ranks]>();
    launch.in = SymmetricAddress::make(1, 0);
    launch.out = SymmetricAddress::make(in_place ? 1 : 2, 0);
    launch.second_out = SymmetricAddress::make(3, 0);
    for (int r = 0; r < size(); ++r) {
      TeamRank& peer = (*this)[r];
      launch.control[r] = peer.control.as<cuda::Control>();
      launch.at.scratch.at[r] = peer.scratch.data();
      launch.at.inbox.at[r] = peer.inbox.data();
      if (by_record && r != rank) continue;
      launch.at.in.at[r] = peer.in.data();
      launch.at.out.at[r] = in_place ? peer.in.data() : peer.out.data();
      launch.at.second_out.at[r] = peer.second_out.data();
    }
    return launch;
  }

  static void run(const cuda::KernelEntry& kernel, cuda::Launch launch, cudaStream_t stream) {
    void* arguments[] = {&launch};
    const dim3 grid(static_cast<unsigned>(launch.blocks)), block(static_cast<unsigned>(launch.threads));
    check(cudaLaunchKernel(kernel.function, grid, block, arguments, 0, stream), kernel.name);
  }
  void synchronize() const {
    for (const auto& rank : ranks_) check(cudaStreamSynchronize(rank->stream), "cudaStreamSynchronize");
  }

 private:
  void fill_segments(int rank) const {
    std::byte* table[4][max_ranks] = {};
    for (int r = 0; r < size(); ++r) {
      table[1][r] = (*this)[r].in.data();
      table[2][r] = (*this)[r].out.data();
      table[3][r] = (*this)[r].second_out.data();
    }
    check(cudaMemcpy((*this)[rank].segments.data(), table, sizeof table, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  std::vector<std::unique_ptr<TeamRank>> ranks_;
};

}  // namespace attune::emulated
