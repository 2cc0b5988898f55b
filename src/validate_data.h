#pragma once
/// Inputs whose result is known. They depend on rank and position, repeat with a long period (so that a message of any
/// length costs one period to make), and are shifted from call to call, so that no stale value passes for a fresh one.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/partition.h"
#include "core/plan.h"
#include "runtime/call.h"
#include "src/validate_values.h"

namespace attune::driver {

enum class DataKind : std::uint8_t {
  exact,   ///< Integers chosen so that every order of the reduction is exact in the dtype: one right answer, bit for
           ///< bit.
  random,  ///< Floats that round: compared with a sum in fp64 within the bound of the numerics class.
};

/// The first element that is not as it should be.
struct Mismatch {
  Index index = 0;
  double got = 0;
  double want = 0;
  double bound = 0;  ///< Allowed distance; 0 = bit for bit.
};

class TestData {
 public:
  /// What rank `rank` of `problem` gets in and must get out. Element-wise collectives only.
  TestData(const Problem& problem, DataKind kind, int rank, std::uint64_t seed);

  /// Writes this rank's input of call number `call`.
  void fill_input(void* in, int call) const { copy_tile(input_, in, call); }
  /// Position of the first element that is no longer what fill_input wrote.
  [[nodiscard]] std::optional<Index> changed_input(const void* in, int call) const;
  /// The operand of the problem's epilogue in call `call`, in memory of this object until the next call of it.
  [[nodiscard]] EpilogueSpec epilogue(int call);

  /// Bit for bit. For DataKind::exact.
  [[nodiscard]] std::optional<Mismatch> check_exact(const void* out, int call) const;
  /// Within the bound of the numerics class. For DataKind::random; integers and min, max are exact there too.
  [[nodiscard]] std::optional<Mismatch> check_close(const void* out, int call, Numerics numerics) const;
  /// Two results for the same data, each within its own bound.
  [[nodiscard]] std::optional<Mismatch> check_against(const void* out, const void* other, int call, Numerics numerics,
                                                      Numerics other_numerics) const;

  [[nodiscard]] Index period() const { return period_; }

 private:
  using Tile = std::vector<std::byte>;
  [[nodiscard]] Index shift(int call) const;
  void copy_tile(const Tile& tile, void* to, int call) const;
  [[nodiscard]] std::optional<Index> first_difference(const Tile& tile, Span part, const void* memory, int call) const;
  void make_tiles(int rank, std::uint64_t seed);
  [[nodiscard]] std::optional<Mismatch> mismatch_at(Index index, Index at, double got, double want,
                                                    const ErrorBound& bound) const;

  Problem problem_;
  DataKind kind_;
  Index period_ = 1;
  Index unit_ = 1;  ///< Shifts are multiples of it: the row length of a bias.
  Span output_;     ///< What this rank gets out.
  Tile input_;
  Tile expected_;
  Tile operand_;
  Tile shifted_operand_;
  std::vector<double> reference_;  ///< random only: the result in fp64,
  std::vector<float> magnitude_;   ///< and the sum of absolute values that its error scales with.
};

/// "rank 1, element 5: got 3, want 4"
[[nodiscard]] std::string to_string(const Mismatch& mismatch, int rank);

/// What an element is, as a number.
[[nodiscard]] double element_at(const void* memory, Index index, DType dtype);

}  // namespace attune::driver
