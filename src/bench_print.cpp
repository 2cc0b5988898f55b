#include "src/bench_print.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "src/local_team.h"
#include "src/units.h"
#include "src/words.h"

namespace attune::driver {

namespace {

std::string_view choice_of(const BenchRequest& request, const std::string& table) {
  if (!request.by_table) return "by hand";
  return table.empty() ? std::string_view("the built-in default (no table)") : std::string_view(table);
}

std::string how_timed(const BenchRequest& request) {
  if (request.flags.graph > 0) return fmt::format("graphs of all calls, launched {} times", request.flags.graph);
  if (!request.isolated()) return "calls back to back, cache hot";
  return fmt::format("median of single calls from a common start, cache {}{}", request.flags.cache,
                     request.against_vendor ? ", interleaved with the vendor's" : "");
}

std::string half_text(const BenchHalf& half, Bytes bytes, int ranks) {
  const std::string wrong = half.wrong < 0 ? "N/A" : std::to_string(half.wrong);
  if (half.time_us < 0) return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", wrong);
  return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", fitted(half.time_us, 7),
                     fitted(algorithm_bandwidth(bytes, half.time_us), 6),
                     fitted(bus_bandwidth(bytes, half.time_us, ranks), 6), wrong);
}

std::string_view short_name(Placement placement) {
  return placement == Placement::in_place ? "in-place" : "out-of-place";
}

}  // namespace

std::string fitted(double value, std::size_t width) {
  for (const int decimals : {2, 1, 0}) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (text.size() <= width - (decimals > 0 ? 1 : 0)) return text;
  }
  return fmt::format("{:.1e}", value);
}

BenchTotals totals_of(const std::vector<BenchRow>& rows, int ranks) {
  BenchTotals totals;
  for (const auto& row : rows)
    for (const auto& half : row.half) {
      totals.wrong += std::max<Index>(half.wrong, 0);
      if (half.time_us > 0) totals.average_busbw += bus_bandwidth(row.bytes, half.time_us, ranks);
    }
  if (!rows.empty()) totals.average_busbw /= 2 * static_cast<double>(rows.size());
  if (const char* least = std::getenv("NCCL_TESTS_MIN_BW")) totals.least_busbw = std::atof(least);
  return totals;
}

void print_bench_header(const BenchRequest& request, const std::vector<BenchRank>& ranks, const std::string& table) {
  const auto& flags = request.flags;
  fmt::print("# attune version {} bench, in nccl-tests' columns\n", ATTUNE_VERSION);
  fmt::print("# Collective test starting: all_reduce_perf\n");
  fmt::print(
      "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg iters: {} "
      "validation: {} graph: {}\n",
      request.min_bytes, request.max_bytes, flags.step_factor > 1 ? flags.step_factor : request.step_bytes,
      flags.step_factor > 1 ? "factor" : "bytes", flags.warm_up, flags.iters, flags.aggregated, flags.check,
      flags.graph);
  fmt::print("# plans: {}; memory: {}; time: {}\n#\n# Using devices\n", choice_of(request, table),
             name_of(request.memory), how_timed(request));
  if (flags.local > 0) fmt::print("# {}\n", describe_local_team(flags.local));
  for (const auto& one : ranks)
    fmt::print("#  Rank {:2d} Group  0 Pid {:6d} on {:>10} device {:2d} {}\n", one.rank, one.pid, one.host, one.number,
               one.device);
  const std::string_view time = flags.cpu_time == 1 ? "cputime" : "time";
  fmt::print("#\n# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}           out-of-place                       in-place\n", "", "",
             "", "", "");
  fmt::print("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "size", "count", "type", "redop", "root");
  for (int half = 0; half < 2; ++half) fmt::print("  {:>7}  {:>6}  {:>6}  {:>6}", time, "algbw", "busbw", "#wrong");
  fmt::print("\n# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "(B)", "(elements)", "", "", "");
  for (int half = 0; half < 2; ++half) fmt::print("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  fmt::print("\n");
  std::fflush(stdout);
}

void print_bench_row(const BenchRequest& /*request*/, const BenchRow& row, int ranks) {
  fmt::print("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", row.bytes, row.bytes / size_of(row.dtype),
             nccl_name(row.dtype), name_of(row.op), -1, half_text(row.half[0], row.bytes, ranks),
             half_text(row.half[1], row.bytes, ranks));
  std::fflush(stdout);
}

namespace {
void print_plans(const std::vector<BenchRow>& rows) {
  fmt::print("#\n# {:>10}  {:>8}  {:>6}  {:>12}  plan\n", "size", "type", "redop", "");
  for (const auto& row : rows)
    for (const Placement placement : all_of<Placement>()) {
      const auto& half = row.half[static_cast<std::size_t>(placement)];
      fmt::print("# {:>10}  {:>8}  {:>6}  {:>12}  {} ({}){}\n", row.bytes, nccl_name(row.dtype), name_of(row.op),
                 short_name(placement), to_string(half.plan), half.answered,
                 half.ran.empty() ? "" : ", ran " + half.ran);
    }
}

void print_ratios(const std::vector<BenchRow>& rows) {
  fmt::print("#\n# {:>10}  {:>8}  {:>6}  {:>12}  {:>10}  {:>10}  vendor/attune with 99 % interval\n", "size", "type",
             "redop", "", "attune us", "vendor us");
  for (const auto& row : rows)
    for (const Placement placement : all_of<Placement>()) {
      const auto& half = row.half[static_cast<std::size_t>(placement)];
      if (!half.ratio) continue;
      const std::string interval = half.ratio->high > 0
                                       ? fmt::format("[{:.3f}, {:.3f}]", half.ratio->low, half.ratio->high)
                                       : "too few calls for an interval: give -n 20 or more";
      fmt::print("# {:>10}  {:>8}  {:>6}  {:>12}  {:>10.2f}  {:>10.2f}  {:.3f} {}\n", row.bytes, nccl_name(row.dtype),
                 name_of(row.op), short_name(placement), half.time_us, half.ratio->vendor_us, half.ratio->median,
                 interval);
    }
}
}  // namespace

void print_bench_footer(const BenchRequest& request, const std::vector<BenchRow>& rows, const BenchTotals& totals) {
  print_plans(rows);
  if (request.against_vendor) print_ratios(rows);
  fmt::print("# Out of bounds values : {} {}\n", totals.wrong, totals.wrong == 0 ? "OK" : "FAILED");
  fmt::print("# Avg bus bandwidth    : {:g} {}\n", totals.average_busbw,
             totals.least_busbw < 0 ? ""
             : totals.too_slow()    ? "FAILED"
                                    : "OK");
  fmt::print("#\n# Collective test concluded: all_reduce_perf\n");
  std::fflush(stdout);
}

}  // namespace attune::driver
