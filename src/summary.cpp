#include "src/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tuner/statistics.h"

namespace attune::driver {

namespace {
constexpr std::string_view columns =
    "collective,dtype,op,count,bytes,rows,cols,ranks,placement,memory,launch_mode,epilogue,variant,blocks,threads,"
    "chunk_bytes,status,samples,rejected,median_us,ci_low_us,ci_high_us,p5_us,p95_us,min_us,algbw_gbs,busbw_gbs,"
    "vendor_us,vs_vendor,converged,noisy,sm_mhz,throttled,ran";
constexpr double median_confidence = 0.99;

/// Severity: a cell that was wrong once is wrong.
int severity(tuner::CellStatus status) {
  switch (status) {
    case tuner::CellStatus::ok:
      return 0;
    case tuner::CellStatus::unsupported:
      return 1;
    case tuner::CellStatus::failed:
      return 2;
    case tuner::CellStatus::timed_out:
      return 3;
    case tuner::CellStatus::wrong:
      return 4;
  }
  return 4;
}

struct Gathered {
  CellSummary cell;
  std::vector<double> search, fresh;
  int search_rejected = 0, fresh_rejected = 0;  ///< Beside those samples.
};

void add(Gathered& gathered, const tuner::Record& record) {
  CellSummary& cell = gathered.cell;
  if (severity(record.status) > severity(cell.status)) {
    cell.status = record.status;
    cell.reason = record.reason;
  }
  const bool fresh = record.stage == tuner::Stage::confirm;
  auto& samples = fresh ? gathered.fresh : gathered.search;
  samples.insert(samples.end(), record.samples_us.begin(), record.samples_us.end());
  cell.rejected += record.rejected;
  (fresh ? gathered.fresh_rejected : gathered.search_rejected) += record.rejected;
  cell.oversubscribed = cell.oversubscribed || record.oversubscribed;
  if (!record.ran.empty()) cell.ran = record.ran;
  if (!record.clock) return;
  cell.throttled += record.clock->throttled;
  if (const int mhz = record.clock->sm_mhz; mhz > 0) cell.sm_mhz = cell.sm_mhz == 0 ? mhz : std::min(cell.sm_mhz, mhz);
}

void finish(Gathered& gathered, double precision) {
  CellSummary& cell = gathered.cell;
  const int rejected = gathered.fresh.empty() ? gathered.search_rejected : gathered.fresh_rejected;
  cell.samples_us = std::move(gathered.fresh.empty() ? gathered.search : gathered.fresh);
  const auto timed = static_cast<double>(cell.samples_us.size()) + rejected;
  cell.noisy = rejected > 0.2 * timed;
  cell.converged = false;
  if (cell.status != tuner::CellStatus::ok || cell.samples_us.empty()) return;
  const auto estimate = tuner::estimate_median(cell.samples_us, median_confidence);
  cell.median_us = estimate.median;
  cell.converged = estimate.relative_half_width() <= precision;
  if (!estimate.interval) return;
  cell.ci_low_us = estimate.interval->low;
  cell.ci_high_us = estimate.interval->high;
}

std::string number(double value) { return value > 0 ? fmt::format("{:.4f}", value) : std::string(); }
}  // namespace

std::vector<CellSummary> summarise(std::span<const tuner::Record> records, double precision) {
  std::map<std::pair<Problem, Plan>, Gathered> cells;
  for (const auto& record : records) {
    auto& gathered = cells[{record.problem, record.plan}];
    gathered.cell.problem = record.problem;
    gathered.cell.plan = record.plan;
    add(gathered, record);
  }
  std::map<Problem, double> vendor;
  for (auto& [key, gathered] : cells) {
    finish(gathered, precision);
    if (key.second.variant == "vendor" && gathered.cell.timed()) vendor[key.first] = gathered.cell.median_us;
  }
  std::vector<CellSummary> list;
  for (auto& [key, gathered] : cells) {
    if (const auto found = vendor.find(key.first); found != vendor.end()) gathered.cell.vendor_us = found->second;
    list.push_back(std::move(gathered.cell));
  }
  return list;
}

void drop_times(std::span<CellSummary> cells) {
  for (auto& cell : cells) {
    cell.median_us = cell.ci_low_us = cell.ci_high_us = cell.vendor_us = 0;
    cell.converged = false;
  }
}

double algbw_gbs(const Problem& problem, double time_us) {
  return time_us > 0 ? static_cast<double>(problem.bytes()) / time_us / 1e3 : 0;
}

double busbw_gbs(const Problem& problem, double time_us) {
  const double n = problem.ranks;
  const double factor = (problem.collective == Collective::reduce_scatter_rms_norm ? 1 : 2) * (n - 1) / n;
  return algbw_gbs(problem, time_us) * factor;
}

std::string to_csv(std::span<const CellSummary> cells) {
  std::string text = std::string(columns) + "\n";
  for (const auto& cell : cells) {
    const Problem& p = cell.problem;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", name_of(p.collective),
                        name_of(p.dtype), name_of(p.op), p.count, p.bytes(), p.rows, p.cols, p.ranks,
                        name_of(p.placement), name_of(p.memory), name_of(p.launch_mode), name_of(p.epilogue),
                        cell.plan.variant, cell.plan.blocks, cell.plan.threads, cell.plan.chunk_bytes,
                        name_of(cell.status), cell.samples_us.size(), cell.rejected);
    const bool timed = cell.timed();
    const auto at = [&](double fraction) { return timed ? tuner::percentile(cell.samples_us, fraction) : 0; };
    std::string ran = cell.ran;
    std::ranges::replace(ran, ',', ';');
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", number(cell.median_us),
                        number(cell.ci_low_us), number(cell.ci_high_us), number(at(0.05)), number(at(0.95)),
                        number(at(0)), number(algbw_gbs(p, cell.median_us)), number(busbw_gbs(p, cell.median_us)),
                        number(cell.vendor_us), timed ? number(cell.vendor_us / cell.median_us) : "", cell.converged,
                        cell.noisy, cell.sm_mhz > 0 ? std::to_string(cell.sm_mhz) : "", cell.throttled, ran);
  }
  return text;
}

}  // namespace attune::driver
