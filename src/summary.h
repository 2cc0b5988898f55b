#pragma once
/// summary.csv: one row for each cell of a run.
#include <span>
#include <string>
#include <vector>

#include "tuner/record.h"

namespace attune::driver {

/// All that was recorded of one cell.
struct CellSummary {
  Problem problem;
  Plan plan;
  tuner::CellStatus status = tuner::CellStatus::ok;  ///< The worst of its records.
  std::string reason;
  std::vector<double> samples_us;  ///< Of fresh blocks if there are any, else all.
  int rejected = 0;
  bool converged = true;
  bool noisy = false;
  bool oversubscribed = false;
  int sm_mhz = 0;        ///< cuda: the lowest block's median clock; 0 = unknown.
  std::string ran;       ///< What the vendor said that it ran, last.
  int throttled = 0;     ///< Of `rejected`: a GPU was held below its clock.
  double median_us = 0;  ///< 0: not timed.
  double ci_low_us = 0;  ///< 99 %; 0: too few samples.
  double ci_high_us = 0;
  double vendor_us = 0;  ///< The vendor's median for the same problem; 0: not timed.

  [[nodiscard]] bool timed() const { return status == tuner::CellStatus::ok && median_us > 0; }
};

/// Ordered by problem, then plan. Oversubscribed cells and both modes are kept as they were recorded.
[[nodiscard]] std::vector<CellSummary> summarise(std::span<const tuner::Record> records, double precision);

/// nccl-tests' rates in GB/s (1e9 B/s) for a time in microseconds.
[[nodiscard]] double algbw_gbs(const Problem& problem, double time_us);
[[nodiscard]] double busbw_gbs(const Problem& problem, double time_us);

/// An emulated device's cells keep what became of them and lose their times.
void drop_times(std::span<CellSummary> cells);
[[nodiscard]] std::string to_csv(std::span<const CellSummary> cells);

}  // namespace attune::driver
