/// nccl-tests' JSON (-J), and attune bench's. A file that was cut, or that holds several objects, is read for its whole
/// parts.
#include <algorithm>

#include "dispatch/json.h"
#include "tuner/imports/reading.h"

namespace attune::tuner::imports {
namespace {

/// The end of the object that begins at `from` (its brace), or npos if it has none.
std::size_t end_of_object(std::string_view text, std::size_t from) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] == '\\')
        ++i;
      else
        quoted = text[i] != '"';
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

/// The whole objects of the list `"key": [ … ` in a text that may end anywhere.
Json whole_objects(std::string_view text, std::string_view key) {
  Json list = Json::array();
  std::size_t at = text.find("\"" + std::string(key) + "\"");
  at = at == std::string_view::npos ? at : text.find('[', at);
  while (at != std::string_view::npos) {
    const std::size_t open = text.find_first_not_of(" \t\r\n,", at + 1);
    if (open == std::string_view::npos || text[open] != '{') break;
    const std::size_t end = end_of_object(text, open);
    if (end == std::string_view::npos) break;
    const Json value = Json::parse(text.substr(open, end - open), nullptr, false);
    if (!value.is_discarded()) list.push_back(value);
    at = end - 1;
  }
  return list;
}

/// The runs in a text: whole objects, and what can be saved of a last one that was cut.
std::vector<Json> runs_of(std::string_view text, std::vector<std::string>& notes) {
  std::vector<Json> runs;
  for (std::size_t open = text.find('{'); open != std::string_view::npos;) {
    const std::size_t end = end_of_object(text, open);
    const auto part = text.substr(open, end == std::string_view::npos ? end : end - open);
    Json run = Json::parse(part, nullptr, false);
    if (run.is_discarded()) {
      run =
          Json{{"config", {{"devices", whole_objects(part, "devices")}}}, {"results", whole_objects(part, "results")}};
      notes.push_back("the JSON is cut or damaged: " + std::to_string(run["results"].size()) + " results were whole");
    }
    runs.push_back(std::move(run));
    open = end == std::string_view::npos ? end : text.find('{', end);
  }
  return runs;
}

std::string text_at(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

Json object_at(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_object() ? object[key] : Json::object();
}

Json list_at(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_array() ? object[key] : Json::array();
}

/// What the run's settings say of all its cells.
struct Settings {
  int ranks = 0;
  Memory memory = Memory::staged;
  LaunchMode launch_mode = LaunchMode::eager;
  Mode mode = Mode::throughput;
  CacheState cache = CacheState::rotating;
};

/// nccl-tests records whether buffers were registered (-R) nowhere but in its arguments.
bool registers(const Json& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_string()) continue;
    const std::string word = arguments[i].get<std::string>();
    const bool flag = word == "-R" || word == "--local_register";
    if (flag && i + 1 < arguments.size() && arguments[i + 1].is_string()) return arguments[i + 1] != "0";
    if (word.size() > 2 && word.starts_with("-R")) return word != "-R0";
  }
  return false;
}

Settings settings_of(const Json& run, const ImportOptions& options) {
  const Json config = object_at(run, "config");
  Settings settings;
  settings.ranks = options.ranks > 0 ? options.ranks : static_cast<int>(list_at(config, "devices").size());
  const bool own = run.contains("attune_version");
  const auto memory = parse<Memory>(text_at(config, "memory"));
  settings.memory = memory ? *memory : registers(list_at(run, "args")) ? Memory::registered : Memory::staged;
  const Json graph = config.value("graph", Json());
  if (graph.is_number() && graph.get<double>() > 0) settings.launch_mode = LaunchMode::graph;
  if (own) settings.mode = text_at(config, "blocking_collectives") == "true" ? Mode::latency : Mode::throughput;
  if (const auto cache = parse<CacheState>(text_at(config, "cache"))) settings.cache = *cache;
  return settings;
}

/// All times of -I, else the one number.
void add_samples(Record& record, const Json& result, const char* half) {
  const Json times = list_at(object_at(result, (std::string(half) + "_per_iter").c_str()), "times_us");
  if (times.size() < 2) return;
  std::vector<double> samples;
  for (const Json& time : times)
    if (time.is_number() && time.get<double>() > 0) samples.push_back(time.get<double>());
  if (samples.size() < 2) return;
  record.samples_us = std::move(samples);
  record.converged = true;
  record.reason = "imported: per-iteration times";
}

void add_status(Record& record, const Json& half, std::size_t& unchecked) {
  const Json wrong = half.value("nwrong", Json());
  if (wrong.is_number() && wrong.get<double>() > 0) {
    record.status = CellStatus::wrong;
    record.reason = "imported: wrong elements";
  }
  unchecked += wrong.is_number() ? 0 : 1;
}

class JsonReader {
 public:
  explicit JsonReader(const ImportOptions& options) : options_(options) {}
  void run(const Json& json, std::size_t index);
  Imported finish(const std::string& source, std::vector<std::string> notes, std::size_t runs);

 private:
  void result(const Json& result);
  void half(const Json& result, const char* name, const Problem& problem);

  const ImportOptions& options_;
  Imported imported_{.kind = ImportKind::nccl_json};
  Settings settings_{};
  std::string launch_{};
  std::size_t unchecked_ = 0, strange_ = 0;
  bool without_ranks_ = false;
};

void JsonReader::half(const Json& result, const char* name, const Problem& problem) {
  const Json half = object_at(result, name);
  const Json time = half.value("time", Json());
  if (!time.is_number() || time.get<double>() <= 0) {
    imported_.notes.push_back(std::to_string(problem.bytes()) + " bytes: no time " + name +
                              (half.contains("cpu_time") ? " (only of the host's enqueueing)" : "") + ": left out");
    return;
  }
  Record record = record_of(problem, "vendor", time.get<double>());
  record.launch = launch_;
  record.mode = settings_.mode;
  record.cache = settings_.cache;
  add_samples(record, result, name);
  add_status(record, half, unchecked_);
  if (half.contains("plan")) {
    try {
      record.plan = plan_from_json(half["plan"], "/plan");
    } catch (const Error&) {
      ++strange_;
      return;
    }
  }
  imported_.records.push_back(std::move(record));
}

void JsonReader::result(const Json& result) {
  const auto dtype = dtype_of(text_at(result, "type"));
  const auto op = parse<Op>(text_at(result, "redop"));
  const bool counted = result.is_object() && result.contains("count") && result["count"].is_number_integer();
  if (!dtype || !op || !counted || result["count"].get<std::int64_t>() < 0 ||
      result["count"].get<std::int64_t>() > largest_message / size_of(*dtype)) {
    ++strange_;
    return;
  }
  without_ranks_ = without_ranks_ || settings_.ranks == 0;
  Problem problem{.dtype = *dtype,
                  .op = *op,
                  .count = result["count"].get<std::int64_t>(),
                  .ranks = settings_.ranks,
                  .memory = settings_.memory,
                  .launch_mode = settings_.launch_mode};
  half(result, "out_of_place", problem);
  problem.placement = Placement::in_place;
  half(result, "in_place", problem);
}

void JsonReader::run(const Json& json, std::size_t index) {
  const Json arguments = list_at(json, "args");
  const std::string program = !arguments.empty() && arguments[0].is_string() ? arguments[0].get<std::string>() : "";
  if (program.find("_perf") != std::string::npos && program.find("all_reduce_perf") == std::string::npos) {
    imported_.notes.push_back("a run of " + program + ", no allreduce: left out");
    return;
  }
  settings_ = settings_of(json, options_);
  launch_ = options_.launch + (index > 0 ? "#" + std::to_string(index + 1) : "");
  const Json devices = list_at(object_at(json, "config"), "devices");
  if (imported_.device.empty() && !devices.empty()) imported_.device = text_at(devices[0], "device_info");
  if (imported_.tool.empty())
    imported_.tool = json.contains("attune_version") ? "attune bench " + text_at(json, "attune_version") : "nccl-tests";
  imported_.cuda = !json.contains("attune_version");
  const Json results = list_at(json, "results");
  for (const Json& one : results) result(one);
}

Imported JsonReader::finish(const std::string& source, std::vector<std::string> notes, std::size_t runs) {
  notes.insert(notes.end(), imported_.notes.begin(), imported_.notes.end());
  if (strange_ > 0)
    notes.push_back(std::to_string(strange_) + " results are not of an allreduce that attune knows: left out");
  if (unchecked_ > 0) notes.push_back(std::to_string(unchecked_) + " results were not checked (nwrong is null)");
  if (runs > 1) notes.push_back(std::to_string(runs) + " runs in one file, kept apart as launches");
  imported_.notes = std::move(notes);
  if (imported_.records.empty())
    throw Error(
        Status::usage,
        source + ": no result of an allreduce" + (imported_.notes.empty() ? "" : ": " + imported_.notes.front()),
        "name the -J file of all_reduce_perf, or MSCCL++'s tuning file");
  if (without_ranks_) no_ranks(source);
  number_blocks(imported_.records);
  return std::move(imported_);
}

}  // namespace

Imported read_nccl_json(std::string_view text, const std::string& source, const ImportOptions& options) {
  std::vector<std::string> notes;
  const auto runs = runs_of(text, notes);
  JsonReader reader(options);
  for (std::size_t i = 0; i < runs.size(); ++i) reader.run(runs[i], i);
  return reader.finish(source, std::move(notes), runs.size());
}

}  // namespace attune::tuner::imports
