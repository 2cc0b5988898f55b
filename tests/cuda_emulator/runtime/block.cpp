#include "block.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include "../shim/device_calls.h"
#include "faults.h"
#include "fiber.h"
#include "memory.h"

// The indices that kernels see. Set whenever a thread begins or goes on.
__thread uint3 threadIdx, blockIdx;
__thread uint3 attune_emulator_block_dim, attune_emulator_grid_dim;

namespace attune::emulator {
namespace {

thread_local BlockRun* current = nullptr;

/// Where every fiber begins.
void fiber_main() {
  current->run_call();
  current->finish_thread();
}

}  // namespace

BlockRun* running_block() { return current; }

BlockRun::BlockRun(const Grid& grid, unsigned index)
    : grid_(grid),
      index_(index),
      threads_(grid.shape.threads()),
      chance_(draw("block")),
      state_(threads_, State::ready),
      warps_((threads_ + 31) / 32) {
  for (unsigned t = 0; t < threads_; ++t) {
    order_.push_back(t);
    fibers_.push_back(take_fiber(&fiber_main));
  }
}
BlockRun::~BlockRun() {
  for (auto* fiber : fibers_) give_fiber(fiber);
}

void BlockRun::run() {
  current = this;
  may_touch(grid_.device->reachable);
  const auto& s = grid_.shape;
  attune_emulator_block_dim = s.block;
  attune_emulator_grid_dim = s.grid;
  blockIdx = {index_ % s.grid.x, index_ / s.grid.x % s.grid.y, index_ / s.grid.x / s.grid.y};
  unsigned idle = 0;
  while (grid_.device->sticky == cudaSuccess && !dead_) {
    if (std::all_of(state_.begin(), state_.end(), [](State state) { return state == State::done; })) break;
    idle = one_turn() ? 0 : idle + 1;
    if (idle > 0) std::this_thread::yield();
    if (idle > 100) usleep(20);
  }
  current = nullptr;
  may_touch(0);
}

/// Every thread that can go on does so once. Returns whether one did more than poll.
bool BlockRun::one_turn() {
  if (settings().seed != 0) shuffle();
  bool progress = false, ran = false;
  for (const unsigned t : order_) {
    if (state_[t] != State::ready && state_[t] != State::polling) continue;
    ran = true;
    state_[t] = State::ready;
    switch_to(t);
    progress |= state_[t] != State::polling;
    if (dead_ || grid_.device->sticky != cudaSuccess) return true;
  }
  release_waiters();
  if (!ran && std::none_of(state_.begin(), state_.end(), [](State s) { return s == State::ready; })) {
    std::fprintf(stderr, "emulated: kernel %s, block %u: threads wait for each other for good\n", grid_.name.c_str(),
                 index_);
    grid_.device->fail(cudaErrorLaunchTimeout);
  }
  return progress;
}

void BlockRun::shuffle() {
  for (std::size_t k = order_.size(); k > 1; --k) std::swap(order_[k - 1], order_[chance_.below(k)]);
}

void BlockRun::set_indices(unsigned t) const {
  const auto& b = grid_.shape.block;
  threadIdx = {t % b.x, t / b.x % b.y, t / b.x / b.y};
}

void BlockRun::switch_to(unsigned t) {
  running_ = t;
  set_indices(t);
  enter_fiber(*fibers_[t], scheduler_);
  // After a fault: the signal's handler had no rights.
  if (dead_) may_touch(0);
}

void BlockRun::wait_as(State state) {
  state_[running_] = state;
  if (_setjmp(fibers_[running_]->at) == 0) _longjmp(scheduler_, 1);
}

void BlockRun::finish_thread() {
  state_[running_] = State::done;
  _longjmp(scheduler_, 1);
}

/// The block barrier opens when all threads that have not ended stand before it.
void BlockRun::release_waiters() {
  const auto count = [&](State state) { return std::count(state_.begin(), state_.end(), state); };
  if (count(State::at_barrier) > 0 && count(State::at_barrier) + count(State::done) == threads_) {
    votes_before_ = votes_;
    votes_ = 0;
    std::replace(state_.begin(), state_.end(), State::at_barrier, State::ready);
  }
}

void BlockRun::sync_threads() { wait_as(State::at_barrier); }

int BlockRun::sync_threads_count(bool predicate) {
  votes_ += predicate ? 1 : 0;
  wait_as(State::at_barrier);
  return votes_before_;
}

/// Lanes of the mask meet; the last to come lets the others go.
void BlockRun::sync_warp(std::uint32_t mask) {
  const unsigned me = running_, warp = me / 32, first = warp * 32;
  Warp& w = warps_[warp];
  std::uint32_t exist = 0;
  for (unsigned lane = 0; lane < 32 && first + lane < threads_; ++lane)
    if (state_[first + lane] != State::done) exist |= 1U << lane;
  if (w.waiting != 0 && w.mask != mask) trap(cudaErrorLaunchFailure, "lanes of a warp meet with different masks");
  if ((mask >> (me % 32) & 1U) == 0) trap(cudaErrorLaunchFailure, "a lane meets a mask that it is not in");
  w.mask = mask;
  w.waiting |= 1U << (me % 32);
  if ((w.waiting & mask) != (mask & exist)) return wait_as(State::at_warp);
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((w.waiting >> lane & 1U) != 0) state_[first + lane] = State::ready;
  w.waiting = 0;
}

void BlockRun::gather(std::uint32_t mask, const void* mine, std::size_t size, std::byte (*gathered)[16]) {
  Warp& w = warps_[running_ / 32];
  std::memcpy(w.brought[running_ % 32], mine, size);
  sync_warp(mask);
  std::memcpy(gathered, w.brought, sizeof w.brought);
  sync_warp(mask);  // nobody brings the next before all have taken this
}

void BlockRun::pause() { wait_as(State::polling); }

void BlockRun::trap(cudaError_t error, const char* why) {
  std::fprintf(stderr, "emulated: kernel %s, block %u, thread %u: %s\n", grid_.name.c_str(), index_, running_, why);
  grid_.device->fail(error);
  dead_ = true;
  state_[running_] = State::done;
  _longjmp(scheduler_, 1);
}

}  // namespace attune::emulator

using attune::emulator::running_block;

extern "C" {
void attune_emulator_syncthreads() { running_block()->sync_threads(); }
int attune_emulator_syncthreads_count(int predicate) { return running_block()->sync_threads_count(predicate != 0); }
void attune_emulator_syncwarp(unsigned mask) { running_block()->sync_warp(mask); }
void attune_emulator_gather(unsigned mask, const void* mine, std::size_t size, std::byte (*gathered)[16]) {
  running_block()->gather(mask, mine, size, gathered);
}
unsigned attune_emulator_lane() { return running_block()->thread() % 32; }
void attune_emulator_pause() { running_block()->pause(); }
void attune_emulator_trap() { running_block()->trap(cudaErrorLaunchFailure, "trap"); }
unsigned long long attune_emulator_globaltimer() {
  return static_cast<unsigned long long>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}
}
