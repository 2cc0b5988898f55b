#include "src/run_reading.h"

#include <fmt/format.h>

#include "src/journal.h"

namespace attune::driver {

namespace {
std::string text_of(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

Hardware measured_hardware(const Json& manifest, const std::string& path) {
  const Json json = manifest.is_object() ? manifest.value("hardware", Json()) : Json();
  const auto device = parse<DeviceKind>(text_of(json, "device"));
  if (!device || text_of(json, "fingerprint").empty())
    throw Error(Status::usage, path + ": /hardware: no device or no fingerprint",
                "name a folder that attune sweep or import wrote");
  const bool counted = json.contains("ranks_per_node") && json["ranks_per_node"].is_number_integer();
  return {.device = *device,
          .name = text_of(json, "name"),
          .arch = text_of(json, "arch"),
          .ranks_per_node = counted ? json["ranks_per_node"].get<int>() : 0,
          .links = text_of(json, "links"),
          .fingerprint = text_of(json, "fingerprint")};
}
}  // namespace

ReadRun read_run(const std::string& path) {
  ReadRun run{.path = path};
  const std::string manifest = path + "/manifest.json";
  run.manifest = parse_json(read_file(manifest), manifest);
  run.hardware = measured_hardware(run.manifest, manifest);
  const Json software = run.manifest.value("software", Json());
  run.software = {text_of(software, "attune"), text_of(software, "vendor"), text_of(software, "driver")};
  run.journal = read_file(path + "/journal.jsonl");
  auto journal = tuner::read_journal(run.journal);
  run.records = std::move(journal.records);
  if (!journal.bad.empty())
    run.warnings.push_back(fmt::format("{}/journal.jsonl: {} damaged lines are left out, the first is line {}: {}",
                                       path, journal.bad.size(), journal.bad.front().number,
                                       journal.bad.front().reason));
  return run;
}

bool is_imported(const ReadRun& run) { return run.manifest.contains("imported"); }

}  // namespace attune::driver
