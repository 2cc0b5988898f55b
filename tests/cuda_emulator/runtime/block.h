#pragma once
/// A block of GPU threads: one OS thread that runs a fiber for each, in an order that changes at every turn.
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <vector_types.h>

#include "device.h"
#include "random.h"

namespace attune::emulator {

struct Shape {
  uint3 grid;
  uint3 block;
  [[nodiscard]] unsigned blocks() const { return grid.x * grid.y * grid.z; }
  [[nodiscard]] unsigned threads() const { return block.x * block.y * block.z; }
};

/// A launch as its blocks see it.
struct Grid {
  Shape shape;
  std::string name;
  std::function<void()> call;  ///< what every thread does
  Device* device;
};

/// What a thread waits for.
enum class State : unsigned char { ready, polling, at_barrier, at_warp, done };

struct Fiber;

/// Runs the block of a grid on the calling thread. Errors (a trap, a fault, threads that wait for each other for good)
/// end up in the device.
class BlockRun {
 public:
  BlockRun(const Grid& grid, unsigned index);
  ~BlockRun();
  void run();

  // What the thread that runs now may ask for.
  void sync_threads();
  int sync_threads_count(bool predicate);
  void sync_warp(std::uint32_t mask);
  /// What every lane of the mask has brought (at most 16 bytes each), in `gathered[lane]`.
  void gather(std::uint32_t mask, const void* mine, std::size_t size, std::byte (*gathered)[16]);
  void pause();
  [[noreturn]] void finish_thread();
  [[noreturn]] void trap(cudaError_t error, const char* why);
  [[nodiscard]] unsigned thread() const { return running_; }
  [[nodiscard]] const Grid& grid() const { return grid_; }
  void run_call() const { grid_.call(); }

 private:
  struct Warp {
    std::uint32_t waiting = 0;  ///< lanes at the rendezvous
    std::uint32_t mask = 0;
    std::byte brought[32][16];
  };
  void wait_as(State state);
  void switch_to(unsigned thread);
  void release_waiters();
  bool release_warp(unsigned warp);
  [[nodiscard]] bool one_turn();
  void shuffle();
  void set_indices(unsigned thread) const;

  const Grid& grid_;
  unsigned index_;
  unsigned threads_;
  unsigned running_ = 0;
  bool dead_ = false;
  int votes_ = 0, votes_before_ = 0;
  Chance chance_;
  std::vector<State> state_;
  std::vector<unsigned> order_;
  std::vector<Warp> warps_;
  std::vector<Fiber*> fibers_;
  std::jmp_buf scheduler_;
};

/// The block that the calling thread runs, or null.
[[nodiscard]] BlockRun* running_block();

}  // namespace attune::emulator
