#pragma once
/// The flags of `attune bench`: nccl-tests' under their names, and what only attune knows.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/hardware.h"
#include "core/plan.h"
#include "tuner/record.h"

namespace attune::driver {

/// As given.
struct BenchFlags {
  std::string min_bytes = "32M", max_bytes = "32M", step_bytes = "1M";
  int step_factor = 1, iters = 20, aggregated = 1, warm_up = 1, cycles = 1, check = 1, average = 1, registered = 1;
  int threads = 1, gpus = 1, root = 0, blocking = 0, graph = 0, cpu_time = 0, parallel_init = 0;
  double timeout_s = 0;
  std::string dtypes = "float", ops = "sum", output;
  std::string variant, chunk = "0", table, cache = "hot", against, numerics = "rank_order", device = "host";
  int blocks = 1;
  int local = 0;          ///< cuda: so many ranks are streams of one GPU, in this process.
  int block_threads = 0;  ///< 0: the device's default.
  bool strict = false;
  bool repeats_given = false;  ///< -n or -w.
};

void declare_bench_flags(CLI::App& app, BenchFlags& flags);

/// On emulated GPUs, which have no times: one call in the place of many, unless -n or -w says how many.
void spare_repeats(BenchFlags& flags);

/// As understood.
struct BenchRequest {
  BenchFlags flags{};
  DeviceKind device = DeviceKind::host;
  Bytes min_bytes = 0, max_bytes = 0, step_bytes = 0;
  std::vector<DType> dtypes{};
  std::vector<Op> ops{};
  Memory memory = Memory::registered;
  Numerics numerics = Numerics::rank_order;
  tuner::CacheState cache = tuner::CacheState::hot;
  bool against_vendor = false;
  std::string vendor = "vendor";  ///< What --against means: with windows (-R 2) the vendor's choice that uses them.
  Plan plan{};                    ///< By hand,
  bool by_table = true;           ///< or the table's choice.

  /// Calls one by one from a common start, instead of nccl-tests' loop of calls back to back.
  [[nodiscard]] bool isolated() const { return against_vendor || cache != tuner::CacheState::hot; }
};

/// Throws Error(usage) for a word or number that is none, Error(unsupported) for what the device cannot do,
/// Error(device) when it is not there.
[[nodiscard]] BenchRequest understand(const BenchFlags& flags);

/// The message sizes in bytes for elements of `width` bytes: nccl-tests' ladder, rounded down to whole elements.
[[nodiscard]] std::vector<Bytes> ladder(const BenchRequest& request, Bytes width);

/// Empty, or what the rounding does to the first size that is no whole element.
[[nodiscard]] std::string rounding_note(const BenchRequest& request);

}  // namespace attune::driver
