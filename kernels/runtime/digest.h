#pragma once
/// A digest of what a rank was asked to do: ranks whose digests differ are in different calls.
#include <cstdint>

namespace attune::host {

/// FNV-1a over the words that must agree.
class Digest {
 public:
  Digest& add(std::uint64_t word) {
    for (int k = 0; k < 8; ++k) state_ = (state_ ^ (word >> (8 * k) & 0xFF)) * 0x100000001B3ULL;
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325ULL;
};

}  // namespace attune::host
