#pragma once
/// What host-compiled kernels call while they run. Defined by the stand-in runtime (runtime/block.cpp).
#include <cstddef>

#include <vector_types.h>

extern "C" {
void attune_emulator_syncthreads();
int attune_emulator_syncthreads_count(int predicate);
void attune_emulator_syncwarp(unsigned mask);
void attune_emulator_gather(unsigned mask, const void* mine, std::size_t size, std::byte (*gathered)[16]);
unsigned attune_emulator_lane();
void attune_emulator_pause();
[[noreturn]] void attune_emulator_trap();
unsigned long long attune_emulator_globaltimer();
}
