#pragma once
/// What `attune bench` prints: nccl-tests' lines to the column, so that its parsers work; all else behind a `#`.
#include <string>
#include <vector>

#include "src/bench_run.h"

namespace attune::driver {

/// Where one rank runs.
struct BenchRank {
  int rank = 0;
  int pid = 0;
  std::string host{}, device{};
  int number = 0;  ///< Of the device in its process.
};

/// Sums over all rows.
struct BenchTotals {
  Index wrong = 0;
  double average_busbw = 0;  ///< Plain mean over all sizes and both placements, as nccl-tests takes it.
  double least_busbw = -1;   ///< NCCL_TESTS_MIN_BW; negative = not asked for.

  [[nodiscard]] bool too_slow() const { return least_busbw >= 0 && average_busbw < 0.9 * least_busbw; }
};
[[nodiscard]] BenchTotals totals_of(const std::vector<BenchRow>& rows, int ranks);

void print_bench_header(const BenchRequest& request, const std::vector<BenchRank>& ranks, const std::string& table);
void print_bench_row(const BenchRequest& request, const BenchRow& row, int ranks);
/// The plans behind the rows, the ratios to the vendor, and nccl-tests' footer.
void print_bench_footer(const BenchRequest& request, const std::vector<BenchRow>& rows, const BenchTotals& totals);

/// A number in `width` columns with as many decimals (2, 1, none) as there is room for.
[[nodiscard]] std::string fitted(double value, std::size_t width);

/// Writes nccl-tests' JSON (version 3) with attune's additions to `path`, or to path.0, path.1, … if there is one:
/// under a temporary name, then renamed. The name that it got. Throws Error(usage) when it cannot be written.
std::string write_bench_json(const std::string& path, const BenchRequest& request, const std::vector<BenchRank>& ranks,
                             const std::vector<BenchRow>& rows, const BenchTotals& totals, const std::string& table,
                             const std::string& started);
/// Throws Error(usage) if a file could not be made there: before hours of measuring, not after.
void require_writable(const std::string& path);
/// "2026-11-29 21:00:00", local time.
[[nodiscard]] std::string time_now();

}  // namespace attune::driver
