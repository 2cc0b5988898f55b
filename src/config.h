#pragma once
/// What a sweep measures: the JSON of `attune sweep --config`, with defaults, checked to the last key.
#include <string>
#include <string_view>
#include <vector>

#include "core/hardware.h"
#include "core/plan.h"
#include "dispatch/json.h"
#include "tuner/record.h"

namespace attune::driver {

enum class Search : std::uint8_t {
  exhaustive,  ///< Every candidate until its interval is narrow.
  racing,      ///< Candidates that are surely slower than the best are dropped early.
};

struct Shape {
  Index rows = 0;
  Index cols = 0;
};

struct SweepConfig {
  DeviceKind device = DeviceKind::host;
  std::vector<Bytes> sizes{};  ///< Of one rank's input, ascending, no doubles.
  std::vector<Shape> shapes{};
  std::vector<Collective> collectives{Collective::allreduce};
  std::vector<DType> dtypes{DType::f32};
  std::vector<Op> ops{Op::sum};
  std::vector<int> ranks{};   ///< Subsets of the launched world; empty in a file: the whole world.
  std::vector<int> blocks{};  ///< Empty: powers of two up to the cores of a rank.
  std::vector<int> threads{1};
  std::vector<Bytes> chunks{0};         ///< 0: the variant's own choice.
  std::vector<std::string> variants{};  ///< Empty: all. The vendor is always measured.
  std::vector<Placement> placements{Placement::out_of_place};
  std::vector<Memory> memories{Memory::registered};
  std::vector<LaunchMode> launch_modes{LaunchMode::eager};
  std::vector<EpilogueKind> epilogues{EpilogueKind::none};
  Search search = Search::exhaustive;
  Numerics numerics = Numerics::rank_order;  ///< The loosest class that may enter the table.
  double precision = 0.03;  ///< Half the 99 % interval of the median over the median, at which a cell is done.
  double budget_s = 0;      ///< Of the whole sweep; 0 = none.
  double cell_seconds = 2;  ///< Time limit of one cell; `converged` is false when it ends a cell.
  double timeout_s = 30;    ///< Limit of every wait inside a call; a file without it leaves it to the environment.
  tuner::Mode mode = tuner::Mode::latency;
  tuner::CacheState cache = tuner::CacheState::rewritten;
  std::uint64_t seed = 1;
};

/// Limits that come from where the sweep runs.
struct ConfigLimits {
  int world = 1;  ///< Ranks that were launched.
};

/// Throws Error(usage): "source: /json/pointer: fault; expected …".
[[nodiscard]] SweepConfig parse_config(const Json& json, std::string_view source, const ConfigLimits& limits);

/// All keys with their values, lists written out: what a run remembers, and what --resume compares.
[[nodiscard]] Json to_json(const SweepConfig& config);

/// "90", "90s", "10m", "2h" in seconds. Throws Error(usage) at `pointer`.
[[nodiscard]] double parse_duration(std::string_view text, const std::string& pointer);

}  // namespace attune::driver

template <>
struct attune::detail::Names<attune::driver::Search> {
  static constexpr const char* what = "search";
  static constexpr std::array<std::string_view, 2> list{"exhaustive", "racing"};
};
