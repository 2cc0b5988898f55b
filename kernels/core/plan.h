#pragma once
/// What is asked (`Problem`) and how it is done (`Plan`): plain data, comparable, printable.
#include <compare>
#include <string>

#include "core/types.h"

namespace attune {

/// What a launch needs to know. Kernels never see the dispatch table, only this.
struct Plan {
  std::string variant = "vendor";  ///< A word of variants.txt, a composite, or `vendor:…`.
  int blocks = 1;                  ///< cuda: thread blocks; host: worker threads of the rank (block 0 is the caller).
  int threads = 1;                 ///< Threads per block; always 1 on host.
  Bytes chunk_bytes = 0;           ///< Pipelining grain of chunked variants; 0 = the variant's own choice.

  auto operator<=>(const Plan&) const = default;
};

/// "two_shot_write blocks=2 threads=1 chunk=0"
[[nodiscard]] inline std::string to_string(const Plan& plan) {
  return plan.variant + " blocks=" + std::to_string(plan.blocks) + " threads=" + std::to_string(plan.threads) +
         " chunk=" + std::to_string(plan.chunk_bytes);
}

/// What is asked for: all of it equal on every rank.
struct Problem {
  Collective collective = Collective::allreduce;
  DType dtype = DType::f32;
  Op op = Op::sum;
  Index count = 0;  ///< Elements of one rank's input; rows × cols for the fused kernels.
  Index rows = 0;   ///< Fused kernels only, else 0.
  Index cols = 0;   ///< Fused kernels only (for an allreduce: the row length of a bias), else 0.
  int ranks = 1;
  Placement placement = Placement::out_of_place;
  Memory memory = Memory::registered;
  LaunchMode launch_mode = LaunchMode::eager;
  EpilogueKind epilogue = EpilogueKind::none;

  [[nodiscard]] Bytes bytes() const { return count * size_of(dtype); }
  auto operator<=>(const Problem&) const = default;
};

}  // namespace attune
