#include "src/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "device/host_memory.h"
#include "runtime/composites/vendor_choices.h"
#include "runtime/cuda_device.h"
#include "src/units.h"
#include "variants/registry.h"

namespace attune::driver {

namespace {
constexpr std::array<std::string_view, 26> known_keys{
    "device",       "$schema",      "description", "sizes",   "shapes",   "collectives", "dtypes",
    "ops",          "ranks",        "blocks",      "threads", "chunks",   "variants",    "placements",
    "memories",     "launch_modes", "epilogues",   "search",  "numerics", "precision",   "budget",
    "cell_seconds", "timeout_s",    "mode",        "cache",   "seed"};

std::string item(const std::string& pointer, std::size_t i) { return pointer + "/" + std::to_string(i); }

/// A list that is not empty.
const Json& list_of(const JsonObject& object, std::string_view key) {
  const Json& list = object.array(key);
  if (list.empty()) refuse(object.at(key), "the list is empty, expected at least one value");
  return list;
}

template <class T, class F>
void read_list(const JsonObject& object, std::string_view key, std::vector<T>& values, F&& read) {
  if (!object.has(key)) return;
  values.clear();
  const Json& list = list_of(object, key);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const T value = read(list[i], item(object.at(key), i));
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
}

template <Named E>
void read_words(const JsonObject& object, std::string_view key, std::vector<E>& values) {
  read_list(object, key, values, [](const Json& json, const std::string& pointer) {
    if (!json.is_string()) refuse(pointer, "expected a text, got " + json.dump());
    const auto name = json.get<std::string>();
    if (const auto value = parse<E>(name)) return *value;
    refuse(pointer,
           "unknown " + std::string(detail::Names<E>::what) + " " + with_suggestion(name, detail::Names<E>::list));
  });
}

std::int64_t read_integer(const Json& json, const std::string& pointer, std::int64_t low, std::int64_t high) {
  if (!json.is_number_integer() || json.get<std::int64_t>() < low || json.get<std::int64_t>() > high)
    refuse(pointer,
           "expected an integer from " + std::to_string(low) + " to " + std::to_string(high) + ", got " + json.dump());
  return json.get<std::int64_t>();
}

/// "64M" or a number of bytes.
Bytes read_bytes(const Json& json, const std::string& pointer) {
  if (json.is_number_integer()) return read_integer(json, pointer, 0, Bytes{1} << 50);
  if (!json.is_string()) refuse(pointer, "expected a size such as 4096 or \"64M\", got " + json.dump());
  return parse_bytes(json.get<std::string>(), pointer);
}

void add_range(const Json& json, const std::string& pointer, std::vector<Bytes>& sizes) {
  static constexpr std::array<std::string_view, 3> known{"from", "to", "factor"};
  const JsonObject range(json, pointer, known);
  const Bytes from = read_bytes(range.raw("from"), range.at("from"));
  const Bytes to = read_bytes(range.raw("to"), range.at("to"));
  const double factor = range.number("factor", 1.01, 1e6, 2);
  if (from < 1) refuse(range.at("from"), "expected at least 1 byte, because it is multiplied");
  if (to < from) refuse(range.at("to"), "expected at least `from`");
  for (double size = static_cast<double>(from); size <= static_cast<double>(to) * (1 + 1e-9); size *= factor)
    sizes.push_back(static_cast<Bytes>(std::llround(size)));
}

std::vector<Bytes> read_sizes(const JsonObject& object) {
  std::vector<Bytes> sizes;
  if (!object.has("sizes")) {
    if (!object.has("shapes")) add_range({{"from", 8}, {"to", "64M"}, {"factor", 2}}, "/sizes", sizes);
    return sizes;
  }
  const std::string pointer = object.at("sizes");
  if (object.raw("sizes").is_object()) {
    add_range(object.raw("sizes"), pointer, sizes);
  } else {
    const Json& list = list_of(object, "sizes");
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].is_object())
        add_range(list[i], item(pointer, i), sizes);
      else
        sizes.push_back(read_bytes(list[i], item(pointer, i)));
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

void read_shapes(const JsonObject& object, std::vector<Shape>& shapes) {
  if (!object.has("shapes")) return;
  const Json& list = list_of(object, "shapes");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = item(object.at("shapes"), i);
    if (!list[i].is_array() || list[i].size() != 2) refuse(pointer, "expected [rows, cols], got " + list[i].dump());
    shapes.push_back({read_integer(list[i][0], item(pointer, 0), 1, Index{1} << 40),
                      read_integer(list[i][1], item(pointer, 1), 1, Index{1} << 20)});
    constexpr Index most = Index{1} << 50;
    if (shapes.back().rows > most / shapes.back().cols)
      refuse(pointer, "expected at most " + std::to_string(most) + " elements, got " + list[i].dump());
  }
}

void read_ranks(const JsonObject& object, const ConfigLimits& limits, std::vector<int>& ranks) {
  read_list(object, "ranks", ranks, [&](const Json& json, const std::string& pointer) {
    const auto count = static_cast<int>(read_integer(json, pointer, 1, max_ranks));
    if (count > limits.world)
      refuse(pointer, std::to_string(count) + " ranks, but " + std::to_string(limits.world) +
                          " were launched; use mpirun -n " + std::to_string(count));
    return count;
  });
  if (ranks.empty()) ranks.push_back(std::min(limits.world, max_ranks));
}

void read_variants(const JsonObject& object, DeviceKind device, std::vector<std::string>& variants) {
  read_list(object, "variants", variants, [device](const Json& json, const std::string& pointer) {
    if (!json.is_string()) refuse(pointer, "expected a text, got " + json.dump());
    auto name = json.get<std::string>();
    if (find_variant(name) == nullptr) refuse(pointer, "unknown variant " + with_suggestion(name, all_variant_names()));
    try {
      if (name.starts_with("vendor:") && device == DeviceKind::host) (void)host::parse_vendor_choice(name);
    } catch (const Error& fault) {
      refuse(pointer, fault.what());
    }
    return name;
  });
}

void read_plan_axes(const JsonObject& object, SweepConfig& config) {
  const auto up_to = [](std::int64_t high) {
    return [high](const Json& json, const std::string& pointer) {
      return static_cast<int>(read_integer(json, pointer, 1, high));
    };
  };
  const bool host = config.device == DeviceKind::host;
  read_list(object, "blocks", config.blocks, up_to(host ? host::max_blocks : cuda::max_plan_blocks));
  config.threads = {host ? 1 : cuda::default_threads};
  read_list(object, "threads", config.threads, [host](const Json& json, const std::string& pointer) {
    const auto threads = static_cast<int>(read_integer(json, pointer, 1, cuda::max_plan_threads));
    if (host && threads != 1) refuse(pointer, "a block has 1 thread on host, expected 1");
    if (!host && threads % 32 != 0) refuse(pointer, "a block is made of warps, expected a multiple of 32");
    return threads;
  });
  read_list(object, "chunks", config.chunks,
            [grain = chunk_grain(config.device)](const Json& json, const auto& pointer) {
              const Bytes chunk = read_bytes(json, pointer);
              if (chunk % grain != 0)
                refuse(pointer, "a chunk is made of whole packs, expected a multiple of " + std::to_string(grain) +
                                    ", got " + json.dump());
              return chunk;
            });
  read_variants(object, config.device, config.variants);
}

void read_measuring(const JsonObject& object, SweepConfig& config) {
  config.search = object.word<Search>("search", config.search);
  config.numerics = object.word<Numerics>("numerics", config.numerics);
  config.precision = object.number("precision", 0.0001, 1, config.precision);
  config.cell_seconds = object.number("cell_seconds", 0.001, 1e5, config.cell_seconds);
  config.timeout_s = object.number("timeout_s", 0.1, 1e5, config.timeout_s);
  config.mode = object.word<tuner::Mode>("mode", config.mode);
  config.cache = object.word<tuner::CacheState>("cache", config.cache);
  config.seed = static_cast<std::uint64_t>(object.integer("seed", 0, any_integer, 1));
  if (!object.has("budget")) return;
  const Json& budget = object.raw("budget");
  config.budget_s = budget.is_string() ? parse_duration(budget.get<std::string>(), object.at("budget"))
                                       : object.number("budget", 0, 1e9);
}

SweepConfig read_config(const Json& json, const ConfigLimits& limits) {
  const JsonObject object(json, "", known_keys);
  SweepConfig config;
  config.device = object.word<DeviceKind>("device", config.device);
  config.sizes = read_sizes(object);
  read_shapes(object, config.shapes);
  read_words(object, "collectives", config.collectives);
  read_words(object, "dtypes", config.dtypes);
  read_words(object, "ops", config.ops);
  read_ranks(object, limits, config.ranks);
  read_plan_axes(object, config);
  read_words(object, "placements", config.placements);
  read_words(object, "memories", config.memories);
  read_words(object, "launch_modes", config.launch_modes);
  read_words(object, "epilogues", config.epilogues);
  read_measuring(object, config);
  const bool fused = std::any_of(config.collectives.begin(), config.collectives.end(),
                                 [](Collective c) { return c != Collective::allreduce; });
  if (fused && config.shapes.empty()) refuse("/shapes", "fused kernels need shapes, expected [[rows, cols], …]");
  return config;
}

template <Named E>
Json names_json(const std::vector<E>& values) {
  Json list = Json::array();
  for (const E value : values) list.push_back(name_of(value));
  return list;
}
}  // namespace

double parse_duration(std::string_view text, const std::string& pointer) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (fault != std::errc() || factor == 0 || !(value >= 0) || !std::isfinite(value))
    refuse(pointer, "expected a time such as \"90s\", \"10m\" or \"2h\", got \"" + std::string(text) + "\"");
  return value * factor;
}

SweepConfig parse_config(const Json& json, std::string_view source, const ConfigLimits& limits) {
  try {
    return read_config(json, limits);
  } catch (const Error& fault) {
    throw Error(fault.status(), std::string(source) + ": " + fault.what());
  }
}

Json to_json(const SweepConfig& config) {
  Json shapes = Json::array();
  for (const Shape& shape : config.shapes) shapes.push_back(Json::array({shape.rows, shape.cols}));
  Json json{{"device", name_of(config.device)},
            {"sizes", config.sizes},
            {"shapes", shapes},
            {"collectives", names_json(config.collectives)},
            {"dtypes", names_json(config.dtypes)},
            {"ops", names_json(config.ops)},
            {"ranks", config.ranks},
            {"blocks", config.blocks},
            {"threads", config.threads},
            {"chunks", config.chunks},
            {"variants", config.variants},
            {"placements", names_json(config.placements)},
            {"memories", names_json(config.memories)},
            {"launch_modes", names_json(config.launch_modes)},
            {"epilogues", names_json(config.epilogues)},
            {"search", name_of(config.search)},
            {"numerics", name_of(config.numerics)},
            {"precision", config.precision},
            {"budget", config.budget_s},
            {"cell_seconds", config.cell_seconds},
            {"timeout_s", config.timeout_s},
            {"mode", name_of(config.mode)},
            {"cache", name_of(config.cache)},
            {"seed", config.seed}};
  // An empty list means the default, and is no value that a file may have.
  for (const char* key : {"sizes", "shapes", "blocks", "variants"})
    if (json[key].empty()) json.erase(key);
  return json;
}

}  // namespace attune::driver
