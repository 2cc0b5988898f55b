#pragma once
/// A team on the SIMT device: its memory, and the threads that run calls on it.
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/simt_block.h"

namespace attune::conformance {

/// Memory that begins on a cache line.
class AlignedBytes {
 public:
  explicit AlignedBytes(Bytes bytes) : bytes_(bytes), data_(new (std::align_val_t{64}) std::byte[size()]) {
    std::memset(data_.get(), 0, size());
  }
  [[nodiscard]] std::byte* data() { return data_.get(); }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(bytes_); }
  Bytes bytes_;
  std::unique_ptr<std::byte[], Free> data_;
};

/// The buffers of one rank. `capacity`: bytes of the largest message.
struct SimtRank {
  SimtRank(Bytes capacity, Epoch first_epoch)
      : in(capacity + 64),
        out(capacity + 64),
        scratch(3 * 3 * capacity + 8192),  // three blocks with three slots of a whole message each
        inbox(3 * 3 * capacity + 8192),
        memory(capacity + 64, first_epoch) {
    for (auto& block : counters) {
      block.sent.fill(first_epoch);
      block.expected.fill(first_epoch);
    }
  }
  AlignedBytes in, out, scratch, inbox;
  simt::Memory memory;
  std::array<simt::Counters, simt::max_blocks> counters{};
  std::array<simt::BlockMemory, simt::max_blocks> block;
  simt::BlockMemory grid;  ///< Where all threads of the rank meet between launches, as in a stream.
  simt::Launch launch;
};

class SimtTeam {
 public:
  SimtTeam(int ranks, Bytes capacity, Epoch first_epoch) {
    for (int r = 0; r < ranks; ++r) ranks_.push_back(std::make_unique<SimtRank>(capacity, first_epoch));
  }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] SimtRank& operator[](int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  /// A launch of `rank` with the addresses of everybody.
  [[nodiscard]] simt::Launch launch_of(int rank) {
    simt::Launch launch;
    launch.rank = rank;
    launch.ranks = size();
    launch.counters = &(*this)[rank].counters;
    launch.block = &(*this)[rank].block;
    for (int r = 0; r < size(); ++r) {
      const auto k = static_cast<std::size_t>(r);
      launch.in[k] = (*this)[r].in.data();
      launch.out[k] = (*this)[r].out.data();
      launch.scratch[k] = (*this)[r].scratch.data();
      launch.inbox[k] = (*this)[r].inbox.data();
      launch.memory[k] = &(*this)[r].memory;
    }
    return launch;
  }

  /// Runs body(rank, block, thread) on that many real threads. Returns the first error of any.
  template <class F>
  [[nodiscard]] std::string run(int blocks, int threads, F body) {
    std::mutex mutex;
    std::string error;
    std::vector<std::thread> all;
    for (int rank = 0; rank < size(); ++rank)
      for (int block = 0; block < blocks; ++block)
        for (int thread = 0; thread < threads; ++thread)
          all.emplace_back([&, rank, block, thread] {
            try {
              body(rank, block, thread);
            } catch (const std::exception& e) {
              const std::lock_guard guard(mutex);
              if (error.empty()) error = "rank " + std::to_string(rank) + ": " + e.what();
            }
          });
    for (auto& thread : all) thread.join();
    return error;
  }

 private:
  std::vector<std::unique_ptr<SimtRank>> ranks_;
};

}  // namespace attune::conformance
