#pragma once
/// A validator for the part of JSON Schema that the files under configs/schema use, so that a test can hold a
/// schema against the reader of the same format. A schema word that it does not know is a failure, not a pass.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

namespace attune::testing {

/// The first fault of `value` under `schema` as "pointer: word", or nothing.
class SchemaCheck {
 public:
  using Json = nlohmann::ordered_json;
  explicit SchemaCheck(Json root) : root_(std::move(root)) {}

  [[nodiscard]] std::optional<std::string> fault(const Json& value) const { return fault(value, root_, ""); }
  [[nodiscard]] const Json& root() const { return root_; }

 private:
  [[nodiscard]] static bool has_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    throw std::runtime_error("schema type " + type);
  }

  [[nodiscard]] static bool holds(const std::string& word, const Json& limit, const Json& value) {
    static const std::set<std::string> notes{"$schema", "$defs",    "$id",      "title",      "description",
                                             "default", "examples", "required", "properties", "additionalProperties",
                                             "items",   "$ref",     "anyOf"};
    if (word == "type") {
      if (!limit.is_array()) return has_type(value, limit.get<std::string>());
      for (const auto& one : limit)
        if (has_type(value, one.get<std::string>())) return true;
      return false;
    }
    if (word == "const") return value == limit;
    if (word == "enum") return std::find(limit.begin(), limit.end(), value) != limit.end();
    if (word == "minimum") return !value.is_number() || value.get<double>() >= limit.get<double>();
    if (word == "exclusiveMinimum") return !value.is_number() || value.get<double>() > limit.get<double>();
    if (word == "maximum") return !value.is_number() || value.get<double>() <= limit.get<double>();
    if (word == "minItems") return !value.is_array() || value.size() >= limit.get<std::size_t>();
    if (word == "maxItems") return !value.is_array() || value.size() <= limit.get<std::size_t>();
    if (word == "minLength") return !value.is_string() || value.get<std::string>().size() >= limit.get<std::size_t>();
    if (!notes.contains(word)) throw std::runtime_error("schema word " + word);
    return true;
  }

  [[nodiscard]] std::optional<std::string> fault(const Json& value, const Json& schema, const std::string& at) const {
    if (schema.contains("$ref"))
      return fault(value, root_.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), at);
    for (const auto& [word, limit] : schema.items())
      if (!holds(word, limit, value)) return at + ": " + word;
    if (schema.contains("anyOf") && !any_of(value, schema["anyOf"], at)) return at + ": anyOf";
    if (value.is_object()) return object_fault(value, schema, at);
    if (value.is_array() && schema.contains("items"))
      for (std::size_t i = 0; i < value.size(); ++i)
        if (auto inner = fault(value[i], schema["items"], at + "/" + std::to_string(i))) return inner;
    return std::nullopt;
  }

  [[nodiscard]] bool any_of(const Json& value, const Json& schemas, const std::string& at) const {
    for (const auto& schema : schemas)
      if (!fault(value, schema, at)) return true;
    return false;
  }

  [[nodiscard]] std::optional<std::string> object_fault(const Json& value, const Json& schema,
                                                        const std::string& at) const {
    for (const auto& key : schema.value("required", Json::array()))
      if (!value.contains(key.get<std::string>())) return at + "/" + key.get<std::string>() + ": required";
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [key, inner] : value.items()) {
      if (!properties.contains(key)) {
        if (schema.contains("additionalProperties") && schema["additionalProperties"] == false)
          return at + "/" + key + ": additionalProperties";
        continue;
      }
      if (auto found = fault(inner, properties[key], at + "/" + key)) return found;
    }
    return std::nullopt;
  }

  Json root_;
};

/// A schema of configs/schema by its file name; the source folder comes from the environment of the tests.
[[nodiscard]] inline SchemaCheck load_schema(const std::string& name) {
  const char* source = std::getenv("ATTUNE_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) + "/configs/schema/" + name);
  return SchemaCheck(nlohmann::ordered_json::parse(file));
}

}  // namespace attune::testing
