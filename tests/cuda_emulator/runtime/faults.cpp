#include "faults.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <mutex>

#include "block.h"
#include "memory.h"

namespace attune::emulator {
namespace {

struct sigaction before_segv, before_bus;

void on_fault(int signal, siginfo_t* info, void* context) {
  if (auto* block = running_block()) {
    std::array<char, 64> why;
    std::snprintf(why.data(), why.size(), "illegal access to %p", info->si_addr);
    may_touch(all_devices);  // handlers begin without rights
    block->trap(cudaErrorIllegalAddress, why.data());
  }
  if (const auto* a = find(info->si_addr); a && a->on_device())
    std::fprintf(stderr, "emulated: host code touches device memory at %p\n", info->si_addr);
  const auto& before = signal == SIGSEGV ? before_segv : before_bus;
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  ::signal(signal, SIG_DFL);
}

void take(int signal, struct sigaction* before) {
  struct sigaction now;
  sigaction(signal, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_fault) return;
  *before = now;
  struct sigaction mine = {};
  mine.sa_sigaction = &on_fault;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&mine.sa_mask);
  sigaction(signal, &mine, nullptr);
}

}  // namespace

void watch_faults() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  take(SIGSEGV, &before_segv);
  take(SIGBUS, &before_bus);
}

void prepare_thread_for_faults() {
  constexpr std::size_t bytes = std::size_t{64} << 10U;
  stack_t stack = {};
  stack.ss_sp = new char[bytes];
  stack.ss_size = bytes;
  sigaltstack(&stack, nullptr);
}

}  // namespace attune::emulator
