#include "tuner/record.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

#include "dispatch/json.h"

namespace attune::tuner {
namespace {

constexpr std::string_view crc_key = R"(,"crc":")";
constexpr std::size_t crc_digits = 8;
constexpr std::string_view line_end = R"("})";

constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0U);
    table[i] = value;
  }
  return table;
}();

std::string hex(std::uint32_t value) {
  std::string digits(crc_digits, '0');
  for (std::size_t i = 0; i < crc_digits; ++i) digits[crc_digits - 1 - i] = "0123456789abcdef"[(value >> (4 * i)) & 15];
  return digits;
}

Json samples_json(const std::vector<double>& samples_us) {
  Json list = Json::array();
  for (const double sample : samples_us) list.push_back(std::round(sample * 1e4) / 1e4);
  return list;
}

std::vector<double> samples_from_json(const JsonObject& object) {
  std::vector<double> samples;
  for (const Json& sample : object.array("samples_us")) {
    if (!sample.is_number() || !std::isfinite(sample.get<double>()) || sample.get<double>() < 0)
      refuse(object.at("samples_us") + "/" + std::to_string(samples.size()), "expected a time in microseconds");
    samples.push_back(sample.get<double>());
  }
  return samples;
}

Json to_json(const Clock& clock) {
  Json json{{"sm_mhz", clock.sm_mhz}, {"least_mhz", clock.least_mhz}, {"throttled", clock.throttled}};
  if (!clock.reasons.empty()) json["reasons"] = clock.reasons;
  return json;
}

/// Journals of the host have none, nor those of before it was recorded.
std::optional<Clock> clock_from_json(const JsonObject& record) {
  if (!record.has("clock")) return std::nullopt;
  static constexpr std::array<std::string_view, 4> known{"sm_mhz", "least_mhz", "throttled", "reasons"};
  const JsonObject object(record.raw("clock"), record.at("clock"), known);
  const auto number = [&](std::string_view key) { return static_cast<int>(object.integer(key, 0, 1 << 30)); };
  return Clock{.sm_mhz = number("sm_mhz"),
               .least_mhz = number("least_mhz"),
               .throttled = number("throttled"),
               .reasons = object.text("reasons", "")};
}

Record record_from_json(const Json& json) {
  static constexpr std::array<std::string_view, 16> known{
      "status",    "problem", "plan",           "launch", "block", "stage", "samples_us", "rejected",
      "converged", "noisy",   "oversubscribed", "clock",  "mode",  "cache", "reason",     "ran"};
  const JsonObject object(json, "", known);
  return {.status = object.word<CellStatus>("status"),
          .problem = problem_from_json(object.raw("problem"), object.at("problem")),
          .plan = plan_from_json(object.raw("plan"), object.at("plan")),
          .launch = object.text("launch"),
          .block = static_cast<int>(object.integer("block", 0, 1 << 30)),
          .stage = object.word<Stage>("stage", Stage::search),
          .samples_us = samples_from_json(object),
          .rejected = static_cast<int>(object.integer("rejected", 0, 1 << 30, 0)),
          .converged = object.boolean("converged", true),
          .noisy = object.boolean("noisy", false),
          .oversubscribed = object.boolean("oversubscribed", false),
          .clock = clock_from_json(object),
          .mode = object.word<Mode>("mode", Mode::latency),
          .cache = object.word<CacheState>("cache", CacheState::rewritten),
          .reason = object.text("reason", ""),
          .ran = object.text("ran", "")};
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t value = ~0U;
  for (const char byte : bytes) value = (value >> 8) ^ crc_table[(value ^ static_cast<unsigned char>(byte)) & 255U];
  return ~value;
}

std::string to_line(const Record& record) {
  Json json{{"status", name_of(record.status)},
            {"problem", to_json(record.problem)},
            {"plan", to_json(record.plan)},
            {"launch", record.launch},
            {"block", record.block},
            {"stage", name_of(record.stage)},
            {"samples_us", samples_json(record.samples_us)},
            {"rejected", record.rejected},
            {"converged", record.converged},
            {"noisy", record.noisy},
            {"mode", name_of(record.mode)},
            {"cache", name_of(record.cache)}};
  if (record.oversubscribed) json["oversubscribed"] = true;
  if (record.clock) json["clock"] = to_json(*record.clock);
  if (!record.reason.empty()) json["reason"] = record.reason;
  if (!record.ran.empty()) json["ran"] = record.ran;
  std::string body = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  body.pop_back();  // the closing brace follows the checksum
  const std::string sum = hex(crc32(body));
  return body + std::string(crc_key) + sum + std::string(line_end) + "\n";
}

Record record_from_line(std::string_view line) {
  const std::size_t tail = crc_key.size() + crc_digits + line_end.size();
  if (line.size() < tail || !line.ends_with(line_end) || line.substr(line.size() - tail, crc_key.size()) != crc_key)
    refuse("", "the line does not end in its checksum");
  const std::string_view body = line.substr(0, line.size() - tail);
  const std::string_view sum = line.substr(line.size() - line_end.size() - crc_digits, crc_digits);
  if (hex(crc32(body)) != sum) refuse("", "the checksum does not match");
  return record_from_json(parse_json(std::string(body) + "}", "record"));
}

Journal read_journal(std::string_view text) {
  Journal journal;
  std::int64_t number = 0;
  for (std::size_t first = 0; first < text.size();) {
    const std::size_t feed = text.find('\n', first);
    journal.torn = feed == std::string_view::npos;
    if (journal.torn) break;
    ++number;
    try {
      journal.records.push_back(record_from_line(text.substr(first, feed - first)));
    } catch (const Error& fault) {
      journal.bad.push_back({number, fault.what()});
    }
    first = feed + 1;
    journal.good_bytes = static_cast<std::int64_t>(first);
  }
  return journal;
}

Journal load_journal(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(Status::usage, path + ": cannot read the journal", "name a run folder that a sweep wrote");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return read_journal(text);
}

}  // namespace attune::tuner
