#pragma once
/// Where a rank's buffers lie, in words that mean the same in every process.
#include <cstddef>
#include <cstdint>

#include "core/annotations.h"

namespace attune {

/// Segment number and offset. A word of 0 is no address.
struct SymmetricAddress {
  std::uint64_t word = 0;
  static constexpr int offset_bits = 44;
  [[nodiscard]] ATTUNE_BOTH static constexpr SymmetricAddress make(std::uint64_t segment, std::uint64_t offset) {
    return {(segment << offset_bits) | offset};
  }
  [[nodiscard]] ATTUNE_BOTH constexpr std::size_t segment() const { return word >> offset_bits; }
  [[nodiscard]] ATTUNE_BOTH constexpr std::size_t offset() const {
    return word & ((std::uint64_t{1} << offset_bits) - 1);
  }
};

}  // namespace attune
