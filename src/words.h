#pragma once
/// Words of the command line turned into values: ours (f32), nccl-tests' (float), and helpful when they are neither.
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace attune::driver {

/// The value of a public name. Throws Error(usage) that names `flag` and the nearest known word.
template <Named E>
[[nodiscard]] E parse_word(std::string_view word, std::string_view flag);

/// f32 or float, bf16 or bfloat16, i8 or int8, …
[[nodiscard]] DType parse_dtype(std::string_view word, std::string_view flag);
/// "float": the word that nccl-tests uses.
[[nodiscard]] std::string_view nccl_name(DType dtype);

/// One word, a comma-separated list, or `all`.
[[nodiscard]] std::vector<DType> parse_dtypes(std::string_view words, std::string_view flag);
[[nodiscard]] std::vector<Op> parse_ops(std::string_view words, std::string_view flag);

/// Throws Error(usage): "bench: --dtype 'f23', did you mean 'f32'?".
[[noreturn]] void refuse_word(std::string_view word, std::string_view flag, const std::vector<std::string_view>& known);

template <Named E>
E parse_word(std::string_view word, std::string_view flag) {
  if (const auto value = parse<E>(word)) return *value;
  refuse_word(word, flag, {detail::Names<E>::list.begin(), detail::Names<E>::list.end()});
}

}  // namespace attune::driver
