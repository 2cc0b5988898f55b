#pragma once
/// A dispatch table in the words of other software: tuning files that Open MPI, MPICH, UCC and NCCL load themselves.
/// Only their own algorithms can be said there (`vendor:openmpi/ring`, `vendor:nccl/ring/ll/8`, …); where a table picks
/// one of attune's variants or the vendor's plain default, the file leaves the decision to that software.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/table.h"
#include "tuner/cells.h"

namespace attune::tuner {

enum class ExportFormat : std::uint8_t {
  openmpi,           ///< coll/tuned rules as text, for Open MPI 4.1 and 5.0.
  openmpi_json,      ///< coll/tuned rules as JSON, for Open MPI 6.
  mpich,             ///< Generic collective selection as JSON, for MPICH 4.0 and later.
  ucc,               ///< UCC_TL_UCP_TUNE, as a line of ucc.conf.
  nccl_csv,          ///< The rules of NVIDIA's example tuner plugin (and RCCL's built-in one).
  nccl_optimize_csv  ///< What its script optimize_config.py reads.
};

struct ExportOptions {
  /// Which tables to take where there are several for one number of ranks.
  std::optional<DType> dtype{};
  std::optional<Op> op{};
  std::optional<Placement> placement{};
  std::optional<Memory> memory{};
  bool safe_noncommutative = false;  ///< openmpi: no algorithm that gives wrong results for non-commutative operations.
  std::string base{};  ///< mpich: the text of its generic.json, or the bytes of a libmpich.so, whose other trees stay.
  std::string base_name{};  ///< What `base` was read from, for errors.
};

struct Exported {
  std::string text{};
  std::vector<std::string> notes{};  ///< For people: what was left out or left to the other software, one line each.
};

/// Throws Error(usage) when no table fits the options, or when mpich has no usable base.
[[nodiscard]] Exported export_table(const Table& table, ExportFormat format, const ExportOptions& options);

/// "vendor:openmpi/": what the variants begin with that a format can say.
[[nodiscard]] std::string_view exportable_prefix(ExportFormat format);

/// nccl_optimize_csv of all that a run measured, not only of a table's choices.
[[nodiscard]] Exported export_measurements(const std::vector<Record>& records, const RecordFilter& filter);

}  // namespace attune::tuner

template <>
struct attune::detail::Names<attune::tuner::ExportFormat> {
  static constexpr const char* what = "format";
  static constexpr std::array<std::string_view, 6> list{"openmpi", "openmpi-json", "mpich",
                                                        "ucc",     "nccl-csv",     "nccl-optimize-csv"};
};
