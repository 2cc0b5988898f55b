#pragma once
/// Programs repeat themselves: a call that is made for the second time is prepared by the backend, and from the third
/// time on it runs without being looked at again: of 0.51 us for 8 bytes between two ranks, that saves 0.2.
#include <array>
#include <cstdint>
#include <memory>

#include "core/plan.h"
#include "runtime/backend.h"
#include "runtime/call.h"

namespace attune {

struct KnownCall {
  AllreduceCall call;
  Plan plan;
  bool by_table = true;
  bool seen = false;
  std::unique_ptr<PreparedCall> prepared;

  /// Prepared for this call? `asked` is null when the table chooses.
  [[nodiscard]] bool is(const AllreduceCall& other, const Plan* asked) const {
    return prepared != nullptr && same(other, asked);
  }
  /// Has this call been seen before? If not, it takes the place of the one that was.
  [[nodiscard]] bool comes_again(const AllreduceCall& other, const Plan* asked) {
    if (other.caller != nullptr || other.stream != nullptr)
      return false;  // kernels and streams have lives of their own
    if (seen && same(other, asked)) return true;
    call = other;
    by_table = asked == nullptr;
    if (asked != nullptr) plan = *asked;
    prepared.reset();
    seen = true;
    return false;
  }

 private:
  [[nodiscard]] bool same(const AllreduceCall& other, const Plan* asked) const {
    return call == other && by_table == (asked == nullptr) && (asked == nullptr || plan == *asked);
  }
};

/// The last calls, by a hash of buffers, count and plan; where two meet, the later one stays.
class KnownCalls {
 public:
  [[nodiscard]] KnownCall& of(const AllreduceCall& call, const Plan* asked) {
    const auto number = [](const auto* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    std::uint64_t word = (number(call.in) ^ number(call.out) << 1U) / 16 + static_cast<std::uint64_t>(call.count);
    if (asked != nullptr && !asked->variant.empty())
      word += static_cast<std::uint64_t>(asked->variant.size() * 256 + static_cast<unsigned char>(asked->variant[0])) *
              static_cast<std::uint64_t>(asked->blocks + asked->chunk_bytes + 1);
    return calls_[word * 0x9E3779B97F4A7C15ULL >> 56U];
  }
  /// Memory has come or gone: what was prepared may hold addresses that mean something else now.
  void forget() { calls_ = {}; }

 private:
  std::array<KnownCall, 256> calls_;
};

}  // namespace attune
