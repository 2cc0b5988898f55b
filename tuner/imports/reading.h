#pragma once
/// What the readers of foreign logs share.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/imports/imports.h"

namespace attune::tuner::imports {

inline constexpr std::string_view single_number = "imported: a single number without an interval";

/// More bytes are no message: a number that lost its end, or of another kind.
inline constexpr Bytes largest_message = Bytes{1} << 50;

/// f32, nccl-tests' float, OSU's MPI_FLOAT, …
[[nodiscard]] std::optional<DType> dtype_of(std::string_view word);

/// The whole word as a number, or nothing.
[[nodiscard]] std::optional<double> number(std::string_view word);
[[nodiscard]] std::optional<std::int64_t> integer(std::string_view word);

/// The words of a line, and where each begins.
struct Word {
  std::string_view text{};
  std::size_t at = 0;
};
[[nodiscard]] std::vector<Word> words_of(std::string_view line);

/// "line 12: what": a note.
[[nodiscard]] std::string at_line(std::size_t line, const std::string& what);

/// A record of one number. Throws nothing; a time that is none gives an empty one.
[[nodiscard]] Record record_of(const Problem& problem, std::string variant, double time_us);

/// Numbers the blocks of records of the same cell and launch.
void number_blocks(std::vector<Record>& records);

Imported read_nccl_text(std::string_view text, const std::string& source, const ImportOptions& options);
Imported read_nccl_json(std::string_view text, const std::string& source, const ImportOptions& options);
Imported read_osu_text(std::string_view text, const std::string& source, const ImportOptions& options);
Imported read_mscclpp_json(std::string_view text, const std::string& source, const ImportOptions& options);

[[noreturn]] void no_ranks(const std::string& source);

}  // namespace attune::tuner::imports
