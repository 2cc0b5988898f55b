/// The table's form in a file: reading with every check, and writing.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "dispatch/json.h"
#include "dispatch/table.h"
#include "variants/registry.h"

namespace attune {
namespace {

constexpr std::string_view format_name = "attune-dispatch";
constexpr int format_version = 1;
constexpr double longest_us = 1e12;

Hardware read_hardware(const Json& value, const std::string& pointer) {
  static constexpr std::array<std::string_view, 6> known{"device",         "name",  "arch",
                                                         "ranks_per_node", "links", "fingerprint"};
  const JsonObject object(value, pointer, known);
  Hardware hardware{.device = object.word<DeviceKind>("device"),
                    .name = object.text("name", ""),
                    .arch = object.text("arch", ""),
                    .ranks_per_node = static_cast<int>(object.integer("ranks_per_node", 0, 1 << 20, 0)),
                    .links = object.text("links", ""),
                    .fingerprint = object.text("fingerprint")};
  if (hardware.fingerprint.empty()) refuse(object.at("fingerprint"), "expected a text that is not empty");
  return hardware;
}

Software read_software(const Json& value, const std::string& pointer) {
  static constexpr std::array<std::string_view, 3> known{"attune", "vendor", "driver"};
  const JsonObject object(value, pointer, known);
  return {object.text("attune", ""), object.text("vendor", ""), object.text("driver", "")};
}

Source read_source(const Json& value, const std::string& pointer) {
  static constexpr std::array<std::string_view, 3> known{"run", "journal_sha256", "created"};
  const JsonObject object(value, pointer, known);
  return {object.text("run", ""), object.text("journal_sha256", ""), object.text("created", "")};
}

std::array<double, 2> read_interval(const JsonObject& rule) {
  if (!rule.has("ci_us")) return {0, 0};
  const Json& list = rule.array("ci_us");
  if (list.size() != 2 || !list[0].is_number() || !list[1].is_number() || list[0].get<double>() < 0 ||
      list[0].get<double>() > list[1].get<double>() || !std::isfinite(list[1].get<double>()))
    refuse(rule.at("ci_us"), "expected two ascending times in microseconds, got " + list.dump());
  return {list[0].get<double>(), list[1].get<double>()};
}

bool is_vendor(std::string_view variant) {
  return variant == "vendor" || (variant.starts_with("vendor:") && variant.size() > std::string_view("vendor:").size());
}

/// A variant under a key that is not its own would fail, or round otherwise than the key allows, at the first call.
void check_fits(const std::string& at, const VariantInfo& info, const TableKey& key) {
  if (info.name == "vendor") return;
  const bool fused = info.traits.family == Family::fused;
  if (fused != is_fused(key.collective) || (fused && info.name != name_of(key.collective)))
    refuse(at, std::string(info.name) + " is no variant of " + std::string(name_of(key.collective)));
  if (!admits(key.numerics, info.traits.numerics))
    refuse(at, std::string(info.name) + " is of the class " + std::string(name_of(info.traits.numerics)) +
                   ", which this table's numerics, " + std::string(name_of(key.numerics)) +
                   ", does not admit; expected a variant of it, or a looser class as numerics");
}

void check_plan(const JsonObject& rule, const Plan& plan, const TableKey& key, DeviceKind device,
                const TableLimits& limits) {
  const bool known = limits.variants.empty() || is_vendor(plan.variant) ||
                     std::ranges::find(limits.variants, std::string_view(plan.variant)) != limits.variants.end();
  if (!known || plan.variant.empty())
    refuse(rule.at("variant"), "unknown variant " + with_suggestion(plan.variant, limits.variants));
  if (const VariantInfo* info = find_variant(plan.variant)) check_fits(rule.at("variant"), *info, key);
  if (limits.why_not != nullptr)
    if (const std::string reason = limits.why_not(plan.variant); !reason.empty())
      refuse(rule.at("variant"), plan.variant + " cannot run on this device: " + reason);
  if (plan.blocks > limits.max_blocks)
    refuse(rule.at("blocks"), "expected at most " + std::to_string(limits.max_blocks) + " blocks on this device, got " +
                                  std::to_string(plan.blocks));
  const int threads = device == DeviceKind::host ? 1 : limits.max_threads;
  if (plan.threads > threads)
    refuse(rule.at("threads"), "expected at most " + std::to_string(threads) + " threads per block on a " +
                                   std::string(name_of(device)) + " device, got " + std::to_string(plan.threads));
}

Rule read_rule(const Json& value, const std::string& pointer, const TableKey& key, DeviceKind device,
               const TableLimits& limits) {
  static constexpr std::array<std::string_view, 12> known{"at_bytes",  "min_bytes",   "variant", "blocks",
                                                          "threads",   "chunk_bytes", "time_us", "ci_us",
                                                          "vendor_us", "confidence",  "samples", "launches"};
  const JsonObject object(value, pointer, known);
  Rule rule{.min_bytes = object.integer("min_bytes", 0, any_integer),
            .plan = {.variant = object.text("variant"),
                     .blocks = static_cast<int>(object.integer("blocks", 1, 1 << 16, 1)),
                     .threads = static_cast<int>(object.integer("threads", 1, 1 << 16, 1)),
                     .chunk_bytes = object.integer("chunk_bytes", 0, any_integer, 0)},
            .time_us = object.number("time_us", 0, longest_us, 0),
            .ci_us = read_interval(object),
            .vendor_us = object.number("vendor_us", 0, longest_us, 0),
            .at_bytes = object.integer("at_bytes", 0, any_integer, 0),
            .confidence = object.word<Confidence>("confidence", Confidence::none),
            .samples = object.integer("samples", 0, any_integer, 0),
            .launches = static_cast<int>(object.integer("launches", 0, 1 << 30, 0))};
  check_plan(object, rule.plan, key, device, limits);
  return rule;
}

TableKey read_key(const JsonObject& object) {
  TableKey key{.collective = object.word<Collective>("collective"),
               .dtype = object.word<DType>("dtype"),
               .op = object.word<Op>("op"),
               .ranks = static_cast<int>(object.integer("ranks", 1, 1 << 20)),
               .placement = object.word<Placement>("placement", Placement::out_of_place),
               .memory = object.word<Memory>("memory", Memory::registered),
               .launch_mode = object.word<LaunchMode>("launch_mode", LaunchMode::eager),
               .numerics = object.word<Numerics>("numerics", Numerics::rank_order),
               .cols = object.integer("cols", 0, any_integer, 0),
               .epilogue = object.word<EpilogueKind>("epilogue", EpilogueKind::none)};
  if (is_fused(key.collective) && key.cols == 0)
    refuse(object.at("cols"), "the tables of " + std::string(name_of(key.collective)) + " need the row length");
  if (!is_fused(key.collective) && key.cols != 0)
    refuse(object.at("cols"), "only the tables of fused kernels have cols");
  return key;
}

std::vector<Rule> read_rules(const JsonObject& object, const TableKey& key, DeviceKind device,
                             const TableLimits& limits) {
  const Json& list = object.array("rules");
  if (list.empty()) refuse(object.at("rules"), "expected at least one rule");
  std::vector<Rule> rules;
  for (const Json& value : list) {
    const std::string pointer = object.at("rules") + "/" + std::to_string(rules.size());
    Rule rule = read_rule(value, pointer, key, device, limits);
    if (rules.empty() && rule.min_bytes != 0)
      refuse(pointer + "/min_bytes", "expected 0 in the first rule, got " + std::to_string(rule.min_bytes));
    if (!rules.empty() && rule.min_bytes <= rules.back().min_bytes)
      refuse(pointer + "/min_bytes", "expected rules in ascending order, above " +
                                         std::to_string(rules.back().min_bytes) + ", got " +
                                         std::to_string(rule.min_bytes));
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<KeyedRules> read_tables(const JsonObject& file, DeviceKind device, const TableLimits& limits) {
  static constexpr std::array<std::string_view, 11> known{"collective", "dtype",    "op",          "ranks",
                                                          "placement",  "memory",   "launch_mode", "numerics",
                                                          "cols",       "epilogue", "rules"};
  std::vector<KeyedRules> tables;
  std::map<TableKey, std::string> seen;
  for (const Json& value : file.array("tables")) {
    const JsonObject object(value, file.at("tables") + "/" + std::to_string(tables.size()), known);
    const TableKey key = read_key(object);
    KeyedRules entry{key, read_rules(object, key, device, limits)};
    const auto [first, fresh] = seen.emplace(entry.key, object.pointer());
    if (!fresh) refuse(object.pointer(), "the table " + to_string(entry.key) + " stands already at " + first->second);
    tables.push_back(std::move(entry));
  }
  return tables;
}

Table read_table(const Json& json, const TableLimits& limits) {
  static constexpr std::array<std::string_view, 7> known{"$schema",  "format", "version", "hardware",
                                                         "software", "source", "tables"};
  const JsonObject file(json, "", known);
  if (file.text("format") != format_name)
    refuse("/format", "expected '" + std::string(format_name) + "', got '" + file.text("format") + "'");
  if (file.integer("version", 0, any_integer) != format_version)
    refuse("/version", "expected " + std::to_string(format_version) + ", the version that this attune reads, got " +
                           std::to_string(file.integer("version", 0, any_integer)));
  Table table;
  table.hardware = read_hardware(file.raw("hardware"), "/hardware");
  if (file.has("software")) table.software = read_software(file.raw("software"), "/software");
  if (file.has("source")) table.source = read_source(file.raw("source"), "/source");
  table.tables = read_tables(file, table.hardware.device, limits);
  return table;
}

/// One line; text that is not UTF-8 (a processor's name may be anything) is mended, not refused.
std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json to_json(const Rule& rule) {
  Json json{{"min_bytes", rule.min_bytes},
            {"variant", rule.plan.variant},
            {"blocks", rule.plan.blocks},
            {"threads", rule.plan.threads},
            {"chunk_bytes", rule.plan.chunk_bytes}};
  if (rule.time_us > 0) json["time_us"] = rule.time_us;
  if (rule.ci_us[1] > 0) json["ci_us"] = rule.ci_us;
  if (rule.vendor_us > 0) json["vendor_us"] = rule.vendor_us;
  if (rule.at_bytes > 0) json["at_bytes"] = rule.at_bytes;
  if (rule.confidence != Confidence::none) json["confidence"] = name_of(rule.confidence);
  if (rule.samples > 0) json["samples"] = rule.samples;
  if (rule.launches > 0) json["launches"] = rule.launches;
  return json;
}

Json to_json(const TableKey& key) {
  Json json{{"collective", name_of(key.collective)},
            {"dtype", name_of(key.dtype)},
            {"op", name_of(key.op)},
            {"ranks", key.ranks},
            {"placement", name_of(key.placement)},
            {"memory", name_of(key.memory)},
            {"launch_mode", name_of(key.launch_mode)},
            {"numerics", name_of(key.numerics)}};
  if (key.cols != 0) json["cols"] = key.cols;
  if (key.epilogue != EpilogueKind::none) json["epilogue"] = name_of(key.epilogue);
  return json;
}

std::string to_text(const KeyedRules& entry) {
  std::string text = line_of(to_json(entry.key));
  text.back() = ',';  // the object goes on with its rules
  text += "\n     \"rules\": [";
  for (const Rule& rule : entry.rules)
    text += std::string(&rule == &entry.rules.front() ? "" : ",") + "\n       " + line_of(to_json(rule));
  return text + "]}";
}

}  // namespace

Table parse_table(std::string_view text, std::string_view source, const TableLimits& limits) {
  const Json json = parse_json(text, source);
  try {
    return read_table(json, limits);
  } catch (const Error& fault) {
    throw Error(fault.status(), std::string(source) + ": " + fault.what());
  }
}

Table load_table(const std::string& path, const TableLimits& limits) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(Status::usage, path + ": is a folder, expected a dispatch table", "name the file in it");
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file)
    throw Error(Status::usage, path + ": cannot read the dispatch table", "check the path and its permissions");
  return parse_table(text, path, limits);
}

std::string to_text(const Table& table) {
  const Hardware& hardware = table.hardware;
  const Json head{
      {"device", name_of(hardware.device)},        {"name", hardware.name},   {"arch", hardware.arch},
      {"ranks_per_node", hardware.ranks_per_node}, {"links", hardware.links}, {"fingerprint", hardware.fingerprint}};
  const Json software{
      {"attune", table.software.attune}, {"vendor", table.software.vendor}, {"driver", table.software.driver}};
  const Json source{
      {"run", table.source.run}, {"journal_sha256", table.source.journal_sha256}, {"created", table.source.created}};
  std::string text =
      "{ \"format\": \"" + std::string(format_name) + "\", \"version\": " + std::to_string(format_version) + ",\n";
  text += "  \"hardware\": " + line_of(head) + ",\n";
  text += "  \"software\": " + line_of(software) + ",\n";
  text += "  \"source\": " + line_of(source) + ",\n";
  text += "  \"tables\": [";
  for (const KeyedRules& entry : table.tables)
    text += std::string(&entry == &table.tables.front() ? "" : ",") + "\n    " + to_text(entry);
  return text + "]}\n";
}

}  // namespace attune
