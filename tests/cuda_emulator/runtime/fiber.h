#pragma once
/// A stack of its own that can be left and entered again on one OS thread. Entered the first time by ucontext, then by
/// setjmp and longjmp, which need no system call.
#include <ucontext.h>
#include <csetjmp>

namespace attune::emulator {

struct Fiber {
  std::jmp_buf at;  ///< where it was left
  ucontext_t context;
  void* stack = nullptr;
  bool fresh = true;  ///< not yet entered
};

/// From a pool of the calling thread; a fiber that was left in the middle of something starts anew.
Fiber* take_fiber(void (*entry)());
void give_fiber(Fiber* fiber);
/// Enters a fiber; comes back when somebody jumps to `back`.
void enter_fiber(Fiber& fiber, std::jmp_buf& back);

}  // namespace attune::emulator
