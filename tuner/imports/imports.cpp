#include "tuner/imports/imports.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "core/error.h"
#include "tuner/imports/reading.h"

namespace attune::tuner::imports {
namespace {

struct DTypeName {
  std::string_view word;
  DType dtype;
};
constexpr std::array<DTypeName, 30> dtype_names{
    {{"double", DType::f64},       {"float64", DType::f64},      {"float", DType::f32},
     {"float32", DType::f32},      {"half", DType::f16},         {"float16", DType::f16},
     {"bfloat16", DType::bf16},    {"fp8_e4m3", DType::f8e4m3},  {"fp8_e5m2", DType::f8e5m2},
     {"int8", DType::i8},          {"uint8", DType::u8},         {"int32", DType::i32},
     {"uint32", DType::u32},       {"int64", DType::i64},        {"uint64", DType::u64},
     {"int", DType::i32},          {"MPI_DOUBLE", DType::f64},   {"MPI_FLOAT", DType::f32},
     {"MPI_INT", DType::i32},      {"MPI_CHAR", DType::i8},      {"MPI_BYTE", DType::u8},
     {"MPI_INT8_T", DType::i8},    {"MPI_UINT8_T", DType::u8},   {"MPI_INT32_T", DType::i32},
     {"MPI_UINT32_T", DType::u32}, {"MPI_INT64_T", DType::i64},  {"MPI_UINT64_T", DType::u64},
     {"MPI_LONG", DType::i64},     {"MPI_UNSIGNED", DType::u32}, {"MPI_SIGNED_CHAR", DType::i8}}};

template <class T>
std::optional<T> whole(std::string_view word) {
  T value{};
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (code != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<DType> dtype_of(std::string_view word) {
  if (const auto ours = parse<DType>(word)) return ours;
  const auto found = std::ranges::find(dtype_names, word, &DTypeName::word);
  return found == dtype_names.end() ? std::nullopt : std::optional(found->dtype);
}

std::optional<double> number(std::string_view word) {
  const auto value = whole<double>(word);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> integer(std::string_view word) { return whole<std::int64_t>(word); }

std::vector<Word> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<Word> words;
  for (std::size_t from = line.find_first_not_of(blanks); from != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, from), line.size());
    words.push_back({line.substr(from, end - from), from});
    from = line.find_first_not_of(blanks, end);
  }
  return words;
}

std::string at_line(std::size_t line, const std::string& what) { return "line " + std::to_string(line) + ": " + what; }

Record record_of(const Problem& problem, std::string variant, double time_us) {
  Record record{.problem = problem, .plan = {.variant = std::move(variant)}};
  if (time_us > 0) record.samples_us = {time_us};
  record.converged = false;
  record.reason = single_number;
  return record;
}

void number_blocks(std::vector<Record>& records) {
  std::map<std::tuple<std::string, Problem, Plan>, int> next;
  for (Record& record : records) record.block = next[{record.launch, record.problem, record.plan}]++;
}

void no_ranks(const std::string& source) {
  throw Error(Status::usage, source + ": does not say how many ranks took part", "give --ranks");
}

}  // namespace attune::tuner::imports

namespace attune::tuner {

Imported import_text(std::string_view text, const std::string& source, const ImportOptions& options) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos)
    throw Error(Status::usage, source + ": empty", "name a log of nccl-tests or OSU, or MSCCL++'s tuning file");
  if (text[first] == '{') {
    const bool profiles = text.find("\"profiles\"") != std::string_view::npos;
    return profiles ? imports::read_mscclpp_json(text, source, options)
                    : imports::read_nccl_json(text, source, options);
  }
  if (text.find("# OSU ") != std::string_view::npos) return imports::read_osu_text(text, source, options);
  return imports::read_nccl_text(text, source, options);
}

}  // namespace attune::tuner
