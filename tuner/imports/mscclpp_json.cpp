/// MSCCL++'s offline tuner: {"version": 1, "profiles": [{"sku", "scale", "collectives": {"allreduce": [
/// {"message_size", "algorithm", "nblocks", "nthreads", "symmetric_memory", "time_us"}]}}]}. It names no dtype.
#include "dispatch/json.h"
#include "tuner/imports/reading.h"

namespace attune::tuner::imports {
namespace {

constexpr std::int64_t most_ranks = 1 << 20;

std::int64_t integer_at(const Json& object, const char* key, std::int64_t fallback) {
  return object.is_object() && object.contains(key) && object[key].is_number_integer() ? object[key].get<std::int64_t>()
                                                                                       : fallback;
}

std::optional<Record> record_of_entry(const Json& entry, int ranks, DType dtype) {
  const std::int64_t bytes = integer_at(entry, "message_size", -1);
  const std::int64_t blocks = integer_at(entry, "nblocks", 1);
  const std::int64_t threads = integer_at(entry, "nthreads", 1);
  const bool timed = entry.is_object() && entry.contains("time_us") && entry["time_us"].is_number();
  const bool named = entry.is_object() && entry.contains("algorithm") && entry["algorithm"].is_string();
  if (bytes < 0 || bytes > largest_message || bytes % size_of(dtype) != 0 || !timed || !named || blocks < 1 ||
      blocks > 65536 || threads < 1 || threads > 65536)
    return std::nullopt;
  const Json symmetric = entry.value("symmetric_memory", Json());
  const Problem problem{.dtype = dtype,
                        .count = bytes / size_of(dtype),
                        .ranks = ranks,
                        .memory = symmetric.is_boolean() && symmetric.get<bool>() ? Memory::registered : Memory::staged,
                        .launch_mode = LaunchMode::graph};
  Record record =
      record_of(problem, "vendor:mscclpp/" + entry["algorithm"].get<std::string>(), entry["time_us"].get<double>());
  record.plan.blocks = static_cast<int>(blocks);
  record.plan.threads = static_cast<int>(threads);
  record.mode = Mode::throughput;
  record.cache = CacheState::hot;
  if (record.samples_us.empty()) return std::nullopt;
  return record;
}

}  // namespace

Imported read_mscclpp_json(std::string_view text, const std::string& source, const ImportOptions& options) {
  const Json file = parse_json(text, source);
  Imported imported{.kind = ImportKind::mscclpp_json, .tool = "MSCCL++ offline tuner"};
  const DType dtype = options.dtype.value_or(DType::f16);
  if (!options.dtype) imported.notes.emplace_back("the file names no dtype: f16 is assumed, --dtype says otherwise");
  std::size_t left_out = 0;
  for (const Json& profile : file.value("profiles", Json::array())) {
    if (!profile.is_object() || !profile.contains("collectives")) continue;
    const std::int64_t scale = integer_at(profile, "scale", 0);
    const int ranks = options.ranks > 0 ? options.ranks : scale <= most_ranks ? static_cast<int>(scale) : 0;
    if (ranks < 1) no_ranks(source);
    if (imported.device.empty() && profile.contains("sku") && profile["sku"].is_string())
      imported.device = profile["sku"].get<std::string>();
    const Json list =
        profile["collectives"].is_object() ? profile["collectives"].value("allreduce", Json::array()) : Json();
    for (const Json& entry : list) {
      auto record = record_of_entry(entry, ranks, dtype);
      left_out += record ? 0 : 1;
      if (!record) continue;
      record->launch = options.launch;
      imported.records.push_back(std::move(*record));
    }
  }
  if (left_out > 0) imported.notes.push_back(std::to_string(left_out) + " entries are no cells: left out");
  if (imported.records.empty())
    throw Error(Status::usage, source + ": no allreduce in any profile", "name the tuning file of MSCCL++");
  number_blocks(imported.records);
  return imported;
}

}  // namespace attune::tuner::imports
