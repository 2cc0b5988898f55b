#include "fiber.h"

#include <sys/mman.h>

#include <cstdlib>
#include <vector>

namespace attune::emulator {
namespace {

constexpr std::size_t stack_bytes = std::size_t{128} << 10U, guard_bytes = 4096;

std::vector<Fiber*>& pool() {
  thread_local std::vector<Fiber*> fibers;
  return fibers;
}

Fiber* make_fiber() {
  auto* fiber = new Fiber;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  fiber->stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (fiber->stack == MAP_FAILED) std::abort();
  mprotect(fiber->stack, guard_bytes, PROT_NONE);
  return fiber;
}

void begin_anew(Fiber& fiber, void (*entry)()) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack;
  fiber.context.uc_stack.ss_size = stack_bytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, entry, 0);
  fiber.fresh = true;
}

}  // namespace

Fiber* take_fiber(void (*entry)()) {
  if (pool().empty()) pool().push_back(make_fiber());
  Fiber* const fiber = pool().back();
  pool().pop_back();
  begin_anew(*fiber, entry);
  return fiber;
}

void give_fiber(Fiber* fiber) { pool().push_back(fiber); }

void enter_fiber(Fiber& fiber, std::jmp_buf& back) {
  if (_setjmp(back) != 0) return;
  if (!fiber.fresh) _longjmp(fiber.at, 1);
  fiber.fresh = false;
  setcontext(&fiber.context);
}

}  // namespace attune::emulator
