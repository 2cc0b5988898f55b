#pragma once
/// What the buffers of a test hold, and what an allreduce of them must give. Every element is a function of (seed,
/// rank, index), so every rank can compute everybody's input and the result by itself.
#include <cstdint>
#include <string>

#include "core/types.h"
#include "runtime/call.h"

namespace attune::conformance {

/// exact    every order of the operation, rounded to the element type at every step, gives the same bits; min and
///          max see every bit pattern there is, NaN, infinities and −0 included
/// finite   the same without what vendors leave undefined: NaN, infinities and zeros in min and max, integers that
///          overflow (Open MPI 4.1 saturates 8-bit sums on processors with AVX)
/// random   rounding differs between orders: compared with extended precision
enum class Data : std::uint8_t { exact, finite, random };

struct Content {
  std::uint64_t seed = 0;
  DType dtype = DType::f32;
  Op op = Op::sum;
  Data data = Data::exact;
  int ranks = 1;
};

/// Rank `rank`'s input, elements [0, count).
void fill(const Content& content, int rank, Index count, void* to);

/// The operand of an epilogue, the same on all ranks: small integers.
void fill_operand(const Content& content, Index count, void* to);

/// The result with every sum taken in rank order in the accumulator and rounded once, to the bit.
void rank_order_result(const Content& content, const EpilogueSpec& epilogue, Index count, void* to);

/// Empty, or the first element that differs: "index 5: got 1.5 (0x3fc0), want 1 (0x3f80)".
[[nodiscard]] std::string compare_bits(DType dtype, const void* got, const void* want, Index count);

/// Empty, or the first element that is further from the result in extended precision than a variant of this class
/// may be.
[[nodiscard]] std::string compare_with_bound(const Content& content, const EpilogueSpec& epilogue, Numerics numerics,
                                             const void* got, Index count);

}  // namespace attune::conformance
