#include "dispatch/json.h"

#include <array>
#include <cmath>
#include <set>
#include <vector>

namespace attune {
namespace {

constexpr int max_plan_blocks = 1 << 16;
constexpr int max_plan_threads = 1024;
constexpr int max_problem_ranks = 1 << 20;
constexpr int max_depth = 64;

std::string line_and_column(std::string_view text, std::size_t byte) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    column = text[i] == '\n' ? 1 : column + 1;
    line += text[i] == '\n' ? 1 : 0;
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// Watches a parse for keys that stand twice in one object, and for nesting that would exhaust the stack later.
class Watch {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > max_depth) refuse({}, "nested deeper than " + std::to_string(max_depth) + " levels");
    if (event == Json::parse_event_t::object_start) seen_.emplace_back();
    if (event == Json::parse_event_t::object_end) seen_.pop_back();
    if (event == Json::parse_event_t::key && !seen_.back().insert(parsed.get<std::string>()).second)
      refuse({}, "the key '" + parsed.get<std::string>() + "' stands twice in one object");
    return true;
  }

 private:
  std::vector<std::set<std::string>> seen_;
};

std::string shown(const Json& value) {
  std::string text = value.dump();
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

}  // namespace

void refuse(const std::string& pointer, const std::string& fault) {
  throw Error(Status::usage, pointer.empty() ? fault : pointer + ": " + fault);
}

Json parse_json(std::string_view text, std::string_view source) {
  try {
    return Json::parse(text, Watch{});
  } catch (const Json::parse_error& fault) {
    const bool short_of_text = fault.byte > text.size();
    throw Error(Status::usage,
                std::string(source) + ": not valid JSON at " + line_and_column(text, fault.byte) +
                    (short_of_text ? ": the text ends too early" : ""),
                short_of_text ? "the file looks truncated: write it again" : "correct the file");
  } catch (const Json::exception& fault) {  // a number that no double can hold
    throw Error(Status::usage, std::string(source) + ": not valid JSON: " + fault.what(), "correct the file");
  } catch (const Error& fault) {
    throw Error(fault.status(), std::string(source) + ": " + fault.what());
  }
}

JsonObject::JsonObject(const Json& value, std::string pointer, std::span<const std::string_view> known)
    : value_(value), pointer_(std::move(pointer)) {
  if (!value.is_object()) refuse(pointer_.empty() ? "/" : pointer_, "expected an object, got " + shown(value));
  for (const auto& [key, ignored] : value.items()) {
    bool found = false;
    for (const std::string_view word : known) found = found || word == key;
    if (!found) refuse(at(key), "unknown key " + with_suggestion(key, known));
  }
}

std::string JsonObject::at(std::string_view key) const {
  std::string path = pointer_ + "/";
  for (const char letter : key) path += letter == '~' ? "~0" : letter == '/' ? "~1" : std::string(1, letter);
  return path;
}

const Json& JsonObject::raw(std::string_view key) const {
  const auto found = value_.find(key);
  if (found == value_.end()) refuse(at(key), "this key is missing");
  return *found;
}

const Json& JsonObject::array(std::string_view key) const {
  const Json& value = raw(key);
  if (!value.is_array()) refuse(at(key), "expected a list, got " + shown(value));
  return value;
}

std::string JsonObject::text(std::string_view key) const {
  const Json& value = raw(key);
  if (!value.is_string()) refuse(at(key), "expected a text, got " + shown(value));
  return value.get<std::string>();
}

std::string JsonObject::text(std::string_view key, std::string fallback) const {
  return has(key) ? text(key) : std::move(fallback);
}

bool JsonObject::boolean(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  const Json& value = raw(key);
  if (!value.is_boolean()) refuse(at(key), "expected true or false, got " + shown(value));
  return value.get<bool>();
}

double JsonObject::number(std::string_view key, double low, double high) const {
  const Json& value = raw(key);
  if (!value.is_number()) refuse(at(key), "expected a number, got " + shown(value));
  const double number = value.get<double>();
  if (!std::isfinite(number) || number < low || number > high)
    refuse(at(key),
           "expected a number from " + Json(low).dump() + " to " + Json(high).dump() + ", got " + shown(value));
  return number;
}

double JsonObject::number(std::string_view key, double low, double high, double fallback) const {
  return has(key) ? number(key, low, high) : fallback;
}

std::int64_t JsonObject::integer(std::string_view key, std::int64_t low, std::int64_t high) const {
  const Json& value = raw(key);
  const std::string range = high == any_integer
                                ? "an integer of at least " + std::to_string(low)
                                : "an integer from " + std::to_string(low) + " to " + std::to_string(high);
  const bool beyond =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(any_integer);
  if (!value.is_number_integer() || beyond || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
    refuse(at(key), "expected " + range + ", got " + shown(value));
  return value.get<std::int64_t>();
}

Json to_json(const Plan& plan) {
  return {
      {"variant", plan.variant}, {"blocks", plan.blocks}, {"threads", plan.threads}, {"chunk_bytes", plan.chunk_bytes}};
}

Plan plan_from_json(const Json& value, const std::string& pointer) {
  static constexpr std::array<std::string_view, 4> known{"variant", "blocks", "threads", "chunk_bytes"};
  const JsonObject object(value, pointer, known);
  return {.variant = object.text("variant"),
          .blocks = static_cast<int>(object.integer("blocks", 1, max_plan_blocks, 1)),
          .threads = static_cast<int>(object.integer("threads", 1, max_plan_threads, 1)),
          .chunk_bytes = object.integer("chunk_bytes", 0, any_integer, 0)};
}

Json to_json(const Problem& problem) {
  Json json{{"collective", name_of(problem.collective)},
            {"dtype", name_of(problem.dtype)},
            {"op", name_of(problem.op)},
            {"count", problem.count}};
  if (problem.rows != 0) json["rows"] = problem.rows;
  if (problem.cols != 0) json["cols"] = problem.cols;
  json["ranks"] = problem.ranks;
  json["placement"] = name_of(problem.placement);
  json["memory"] = name_of(problem.memory);
  json["launch_mode"] = name_of(problem.launch_mode);
  if (problem.epilogue != EpilogueKind::none) json["epilogue"] = name_of(problem.epilogue);
  return json;
}

Problem problem_from_json(const Json& value, const std::string& pointer) {
  static constexpr std::array<std::string_view, 11> known{
      "collective", "dtype", "op", "count", "rows", "cols", "ranks", "placement", "memory", "launch_mode", "epilogue"};
  const JsonObject object(value, pointer, known);
  return {.collective = object.word<Collective>("collective"),
          .dtype = object.word<DType>("dtype"),
          .op = object.word<Op>("op"),
          .count = object.integer("count", 0, any_integer),
          .rows = object.integer("rows", 0, any_integer, 0),
          .cols = object.integer("cols", 0, any_integer, 0),
          .ranks = static_cast<int>(object.integer("ranks", 1, max_problem_ranks)),
          .placement = object.word<Placement>("placement", Placement::out_of_place),
          .memory = object.word<Memory>("memory", Memory::registered),
          .launch_mode = object.word<LaunchMode>("launch_mode", LaunchMode::eager),
          .epilogue = object.word<EpilogueKind>("epilogue", EpilogueKind::none)};
}

}  // namespace attune
