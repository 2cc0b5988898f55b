#pragma once
/// SHA-256 (FIPS 180-4), for naming files by their content.
#include <string>
#include <string_view>

namespace attune::driver {

/// In lower-case hexadecimal, 64 digits.
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace attune::driver
