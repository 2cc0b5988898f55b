#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace attune::emulator {
namespace {

constexpr std::size_t stack_bytes = std::size_t{128} << 10U;
/// At the far end of every stack. Guard pages would be more mappings than a process may have.
constexpr std::uint64_t canary = 0x5AC0'FFEE'5AC0'FFEE;

std::vector<Fiber*>& pool() {
  thread_local std::vector<Fiber*> fibers;
  return fibers;
}

Fiber* make_fiber() {
  auto* fiber = new Fiber;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  fiber->stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (fiber->stack == MAP_FAILED) std::abort();
  std::memcpy(fiber->stack, &canary, sizeof canary);
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

void give_fiber(Fiber* fiber) {
  if (std::memcmp(fiber->stack, &canary, sizeof canary) != 0) {
    std::fprintf(stderr, "emulated: a thread of a kernel needs more than %zu bytes of stack\n", stack_bytes);
    std::abort();
  }
  pool().push_back(fiber);
}

void enter_fiber(Fiber& fiber, std::jmp_buf& back) {
  if (_setjmp(back) != 0) return;
  if (!fiber.fresh) _longjmp(fiber.at, 1);
  fiber.fresh = false;
  setcontext(&fiber.context);
}

}  // namespace attune::emulator
