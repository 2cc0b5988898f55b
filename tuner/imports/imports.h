#pragma once
/// Numbers that other programs measured, as journal records: nccl-tests' text and JSON logs, OSU's text, MSCCL++'s
/// tuning JSON. A log is read for what it holds; what is missing, cut or of another kind is named in `notes`.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/record.h"

namespace attune::tuner {

enum class ImportKind : std::uint8_t { nccl_text, nccl_json, osu_text, mscclpp_json };

/// What a file may not say.
struct ImportOptions {
  int ranks = 0;                  ///< 0: the file must say.
  std::optional<DType> dtype{};   ///< Where the file has none.
  std::string launch = "import";  ///< Names of launches begin with it; a file of several runs makes several.
};

struct Imported {
  ImportKind kind = ImportKind::nccl_text;
  std::string tool{};    ///< "nccl-tests 2.19.6", as the file says.
  std::string device{};  ///< The name of the GPU, if the file says.
  bool cuda = true;      ///< Measured on GPUs, as far as the file tells.
  std::vector<Record> records{};
  std::vector<std::string> notes{};  ///< One line each, for people.
};

/// A single number has no interval: such records say `converged: false` and why in `reason`. Throws Error(usage) that
/// names `source` if nothing in the text can be read, or if it does not tell the ranks and the options do not either.
[[nodiscard]] Imported import_text(std::string_view text, const std::string& source, const ImportOptions& options);

}  // namespace attune::tuner

template <>
struct attune::detail::Names<attune::tuner::ImportKind> {
  static constexpr const char* what = "kind of log";
  static constexpr std::array<std::string_view, 4> list{"nccl-tests text", "nccl-tests JSON", "OSU text",
                                                        "MSCCL++ tuning JSON"};
};
