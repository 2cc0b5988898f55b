#pragma once
/// The memory of the SIMT device, on which tests run what runs on a GPU: ranks of blocks of real threads.
/// What a rank shares with its peers (flags, mail), what the threads of a block share, and one launch.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/types.h"
#include "device/signal.h"

namespace attune::simt {

inline constexpr int max_blocks = 8;
inline constexpr int max_threads = 64;

/// What peers write of a rank. Flags are [block][sender]; mail has two generations, as on every device.
struct Memory {
  struct Mailbox {
    std::array<std::atomic<Epoch>, max_blocks> call{};
    std::vector<std::byte> body;
  };
  explicit Memory(Bytes mail_bytes, Epoch first_epoch = 0) {
    for (auto& block : flag)
      for (auto& word : block) word.store(first_epoch, std::memory_order_relaxed);
    for (auto& generation : mail)
      for (auto& box : generation) box.body.resize(static_cast<std::size_t>(mail_bytes));
  }
  std::array<std::array<std::atomic<Epoch>, max_ranks>, max_blocks> flag{};
  std::array<std::array<Mailbox, max_ranks>, 2> mail{};
};

/// A rank's own counting, per block; kept in device memory between launches, in registers within one.
struct Counters {
  std::array<Epoch, max_ranks> sent{};
  std::array<Epoch, max_ranks> expected{};
};

/// Polls until `done()`; throws Error(timeout) after a minute, so that a fault is a failure and not a hang.
template <class F>
void poll(F done, const char* what) {
  const auto start = std::chrono::steady_clock::now();
  for (unsigned turn = 1; !done(); ++turn) {
    std::this_thread::yield();
    if (turn % 1024 == 0 && std::chrono::steady_clock::now() - start > std::chrono::minutes(1))
      throw Error(Status::timeout, std::string("the SIMT device waits for ") + what, "look for a missing notify");
  }
}

/// What the threads of one block share: their barrier and a little memory.
struct BlockMemory {
  std::atomic<int> arrived{0};
  std::atomic<unsigned> phase{0};
  std::array<double, max_threads> partial{};

  /// All `threads` threads of the block come here; what they wrote before, all see behind it.
  void sync(int threads) {
    const unsigned now = phase.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
      arrived.store(0, std::memory_order_relaxed);
      phase.store(now + 1, std::memory_order_release);
      return;
    }
    poll([&] { return phase.load(std::memory_order_acquire) != now; }, "the threads of a block");
  }
};

/// One launch on one rank. Addresses of all ranks are known from the start, as in a captured graph.
struct Launch {
  int rank = 0;
  int ranks = 1;
  int near = 1;  ///< Ranks of a domain.
  int blocks = 1;
  int threads = 1;
  Index count = 0;
  Index chunk = 0;
  Epoch mail_call = 0;  ///< In-band launches so far.
  std::array<std::byte*, max_ranks> in{};
  std::array<std::byte*, max_ranks> out{};
  std::array<std::byte*, max_ranks> second_out{};
  std::array<std::byte*, max_ranks> scratch{};
  std::array<std::byte*, max_ranks> inbox{};
  std::array<Memory*, max_ranks> memory{};
  std::array<Counters, max_blocks>* counters = nullptr;
  std::array<BlockMemory, max_blocks>* block = nullptr;
};

}  // namespace attune::simt
