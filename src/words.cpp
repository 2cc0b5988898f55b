#include "src/words.h"

#include <array>
#include <optional>

#include "core/error.h"
#include "core/nearest.h"

namespace attune::driver {

namespace {
/// nccl-tests' names, in the order of DType.
constexpr std::array<std::string_view, 12> nccl_names{"double", "float", "half",  "bfloat16", "f8e4m3", "f8e5m2",
                                                      "int8",   "uint8", "int32", "uint32",   "int64",  "uint64"};

std::optional<DType> find_dtype(std::string_view word) {
  if (const auto ours = parse<DType>(word)) return ours;
  for (std::size_t i = 0; i < nccl_names.size(); ++i)
    if (nccl_names[i] == word) return static_cast<DType>(i);
  return std::nullopt;
}

/// Every word of a comma-separated list through `one`; `all` is every value.
template <Named E, class F>
std::vector<E> parse_list(std::string_view words, F one) {
  if (words == "all") {
    const auto all = all_of<E>();
    return {all.begin(), all.end()};
  }
  std::vector<E> values;
  for (std::size_t from = 0; from <= words.size();) {
    const std::size_t comma = std::min(words.find(',', from), words.size());
    values.push_back(one(words.substr(from, comma - from)));
    from = comma + 1;
  }
  return values;
}
}  // namespace

void refuse_word(std::string_view word, std::string_view flag, const std::vector<std::string_view>& known) {
  throw Error(Status::usage, std::string(flag) + " " + with_suggestion(word, known));
}

DType parse_dtype(std::string_view word, std::string_view flag) {
  if (const auto dtype = find_dtype(word)) return *dtype;
  std::vector<std::string_view> known(detail::Names<DType>::list.begin(), detail::Names<DType>::list.end());
  for (const auto name : nccl_names)
    if (!parse<DType>(name)) known.push_back(name);
  refuse_word(word, flag, known);
}

std::string_view nccl_name(DType dtype) { return nccl_names[static_cast<std::size_t>(dtype)]; }

std::vector<DType> parse_dtypes(std::string_view words, std::string_view flag) {
  return parse_list<DType>(words, [flag](std::string_view word) { return parse_dtype(word, flag); });
}

std::vector<Op> parse_ops(std::string_view words, std::string_view flag) {
  return parse_list<Op>(words, [flag](std::string_view word) { return parse_word<Op>(word, flag); });
}

}  // namespace attune::driver
