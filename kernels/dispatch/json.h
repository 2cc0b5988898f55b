#pragma once
/// Plans and problems as JSON, and a strict reader whose errors name the place (a JSON pointer) and what was expected.
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/nearest.h"
#include "core/plan.h"

namespace attune {

using Json = nlohmann::ordered_json;  ///< Keeps keys in the order in which they were written: files stay readable.

/// Parses a whole text. Throws Error(usage) that names `source` and the line and column of a fault, for a key that
/// stands twice in one object too (which a plain parser would silently drop).
[[nodiscard]] Json parse_json(std::string_view text, std::string_view source);

/// "pointer: fault; expected …", as an Error(usage).
[[noreturn]] void refuse(const std::string& pointer, const std::string& fault);

/// One JSON object, read key by key. The constructor refuses anything that is no object, and any key that is not in
/// `known` (naming the nearest that is). Getters refuse a missing key, a wrong type and a value out of range;
/// those with a fallback return it when the key is missing, never when it is wrong. `value` must outlive the reader.
class JsonObject {
 public:
  JsonObject(const Json& value, std::string pointer, std::span<const std::string_view> known);

  [[nodiscard]] bool has(std::string_view key) const { return value_.contains(key); }
  [[nodiscard]] std::string at(std::string_view key) const;  ///< The key's own JSON pointer.
  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  [[nodiscard]] const Json& raw(std::string_view key) const;
  [[nodiscard]] const Json& array(std::string_view key) const;

  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key, std::string fallback) const;
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  /// Finite numbers only.
  [[nodiscard]] double number(std::string_view key, double low, double high) const;
  [[nodiscard]] double number(std::string_view key, double low, double high, double fallback) const;

  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high,
                                     std::int64_t fallback) const {
    return has(key) ? integer(key, low, high) : fallback;
  }

  template <Named E>
  [[nodiscard]] E word(std::string_view key) const {
    const std::string name = text(key);
    if (const auto value = parse<E>(name)) return *value;
    refuse(at(key),
           "unknown " + std::string(detail::Names<E>::what) + " " + with_suggestion(name, detail::Names<E>::list));
  }
  template <Named E>
  [[nodiscard]] E word(std::string_view key, E fallback) const {
    return has(key) ? word<E>(key) : fallback;
  }

 private:
  const Json& value_;
  std::string pointer_;
};

inline constexpr std::int64_t any_integer = std::numeric_limits<std::int64_t>::max();

/// {"variant": "ring", "blocks": 2, "threads": 1, "chunk_bytes": 65536}
[[nodiscard]] Json to_json(const Plan& plan);
[[nodiscard]] Plan plan_from_json(const Json& value, const std::string& pointer);

/// All axes; rows, cols and epilogue only where they mean something.
[[nodiscard]] Json to_json(const Problem& problem);
[[nodiscard]] Problem problem_from_json(const Json& value, const std::string& pointer);

}  // namespace attune
