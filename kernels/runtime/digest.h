#pragma once
/// A digest of what a rank was asked to do: ranks whose digests differ are in different calls.
#include <cstdint>

namespace attune::host {

/// A word at a time, multiplied and folded: ranks in one call compute it in every call, in a few nanoseconds.
class Digest {
 public:
  Digest& add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9E3779B97F4A7C15ULL;
    state_ ^= state_ >> 29;
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325ULL;
};

}  // namespace attune::host
