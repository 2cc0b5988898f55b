#pragma once
/// Where measured launches wait for each other: a kernel in front of them that ends when a word says so.
#include "device/cuda_intrinsics.cuh"
#include "runtime/cuda_launch.h"

namespace attune::cuda {

/// One thread. Ends when the word has reached the target, or after the timeout.
__global__ void start_line(const __grid_constant__ StartLine line) {
  const std::uint64_t start = now_ns();
  for (unsigned turn = 1; !reached(load_acquire(*line.word), line.target); ++turn) {
    if (line.timeout_ns != 0 && now_ns() - start > line.timeout_ns) break;
    relax(turn);
  }
}

}  // namespace attune::cuda
