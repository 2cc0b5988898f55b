#include "src/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/error.h"

namespace attune::driver {

namespace {
constexpr std::string_view prefixes = "KMGT";

[[noreturn]] void refuse_size(std::string_view text, std::string_view what) {
  throw Error(Status::usage, fmt::format("{}: '{}' is not a size", what, text),
              "give bytes as a number with K, M, G or T behind it if you like, such as 64K");
}

/// The power of 1024 that a unit stands for; -1 for no unit known.
int power_of(std::string_view unit) {
  if (unit.empty() || unit == "B" || unit == "b") return 0;
  const std::size_t at = prefixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit.front()))));
  const std::string_view rest = unit.substr(1);
  if (at == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "b" || rest == "iB")) return -1;
  return static_cast<int>(at) + 1;
}
}  // namespace

Bytes parse_bytes(std::string_view text, std::string_view what) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  const std::string number(text.substr(0, digits));
  const int power = digits == std::string_view::npos ? 0 : power_of(text.substr(digits));
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || power < 0) refuse_size(text, what);
  const double bytes = std::ldexp(value, 10 * power);
  if (!(bytes <= 0x1p60) || bytes != std::floor(bytes)) refuse_size(text, what);
  Bytes exact = 0;  // whole numbers beyond 2^53 keep all their digits
  if (power == 0 &&
      std::from_chars(number.data(), number.data() + number.size(), exact).ptr == number.data() + number.size())
    return exact;
  return static_cast<Bytes>(bytes);
}

std::string format_bytes(Bytes bytes) {
  int power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power < static_cast<int>(prefixes.size())) {
    bytes /= 1024;
    ++power;
  }
  return std::to_string(bytes) + (power > 0 ? std::string(1, prefixes[static_cast<std::size_t>(power) - 1]) : "");
}

std::string readable_bytes(Bytes bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t power = 0;
  while (value >= 1024 && power + 1 < units.size()) {
    value /= 1024;
    ++power;
  }
  return value == std::floor(value) ? fmt::format("{:.0f} {}", value, units[power])
                                    : fmt::format("{:.1f} {}", value, units[power]);
}

}  // namespace attune::driver
