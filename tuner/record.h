#pragma once
/// The journal: one line for each block of samples of one cell. Append-only, each line with its own checksum, so that
/// a run that was killed at any instant can be read. The run's driver writes it, everything else only reads.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan.h"

namespace attune::tuner {

/// How a block of calls ended. A cell that fails is a record, not an exception.
enum class CellStatus : std::uint8_t { ok, wrong, unsupported, timed_out, failed };
/// Two numbers that are never mixed: isolated calls, or many calls back to back.
enum class Mode : std::uint8_t { latency, throughput };
/// What the caches hold when a call starts.
enum class CacheState : std::uint8_t { rewritten, rotating, hot };
/// Why a block was measured: to find the winner, or afresh once it was found (its time is then free of the bias that
/// the smallest of many noisy numbers has).
enum class Stage : std::uint8_t { search, confirm };

/// cuda: the clock of the GPUs' multiprocessors while the calls of a block ran, of each call the slowest rank's.
struct Clock {
  int sm_mhz = 0;         ///< Median over the calls; 0 = unknown.
  int least_mhz = 0;      ///< Of the slowest call.
  int throttled = 0;      ///< Calls that were refused because a GPU was held down: they are among `rejected`.
  std::string reasons{};  ///< What held it down: "power cap, heat".

  bool operator==(const Clock&) const = default;
};

/// One block of timed calls of one plan. Blocks of one launch and problem with equal numbers were measured interleaved
/// with each other: they are the pairs that comparisons are made of.
struct Record {
  CellStatus status = CellStatus::ok;
  Problem problem{};
  Plan plan{};
  std::string launch{};  ///< Names one start of the program: the unit of replication.
  int block = 0;         ///< The round of this problem in this launch, from 0.
  Stage stage = Stage::search;
  std::vector<double> samples_us{};  ///< Accepted calls, in order; kept to 0.1 ns.
  int rejected = 0;                  ///< Calls that were timed and refused (late start, context switch, throttled).
  bool converged = true;             ///< The interval of the cell's median was narrow enough when measuring stopped.
  bool noisy = false;                ///< Too many calls were rejected.
  bool oversubscribed = false;       ///< More workers than cores: not a time of this hardware.
  std::optional<Clock> clock{};      ///< Nothing on host, and where the driver does not tell.
  Mode mode = Mode::latency;
  CacheState cache = CacheState::rewritten;
  std::string reason{};  ///< For people: why the status is not ok.
  std::string ran{};     ///< What the vendor says that it ran ("ring/ll channels 0..3"); empty where it does not tell.

  bool operator==(const Record&) const = default;
};

/// The line of the journal, with its line feed: a JSON object whose last key `crc` is the CRC-32 of all before it.
[[nodiscard]] std::string to_line(const Record& record);

/// Reads one line (without line feed). Throws Error(usage) for a wrong checksum, a cut line or an unknown form.
[[nodiscard]] Record record_from_line(std::string_view line);

struct BadLine {
  std::int64_t number = 0;  ///< From 1.
  std::string reason{};
};

struct Journal {
  std::vector<Record> records;
  std::vector<BadLine> bad;     ///< Corrupt lines in the middle: skipped, to be reported.
  bool torn = false;            ///< The last line was cut (no line feed): dropped. Not a fault, the run was killed.
  std::int64_t good_bytes = 0;  ///< Up to the end of the last whole line: where a resumed run truncates and goes on.
};

/// Reads a whole journal's text. Never throws: what is bad is in the result.
[[nodiscard]] Journal read_journal(std::string_view text);
/// The same of a file. Throws Error(usage) if it cannot be read.
[[nodiscard]] Journal load_journal(const std::string& path);

/// CRC-32 (polynomial 0xEDB88320, as in zlib and PNG).
[[nodiscard]] std::uint32_t crc32(std::string_view bytes);

}  // namespace attune::tuner

template <>
struct attune::detail::Names<attune::tuner::CellStatus> {
  static constexpr const char* what = "status";
  static constexpr std::array<std::string_view, 5> list{"ok", "wrong", "unsupported", "timed_out", "failed"};
};
template <>
struct attune::detail::Names<attune::tuner::Mode> {
  static constexpr const char* what = "mode";
  static constexpr std::array<std::string_view, 2> list{"latency", "throughput"};
};
template <>
struct attune::detail::Names<attune::tuner::CacheState> {
  static constexpr const char* what = "cache state";
  static constexpr std::array<std::string_view, 3> list{"rewritten", "rotating", "hot"};
};
template <>
struct attune::detail::Names<attune::tuner::Stage> {
  static constexpr const char* what = "stage";
  static constexpr std::array<std::string_view, 2> list{"search", "confirm"};
};
