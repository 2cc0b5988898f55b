#pragma once
/// Chance from ATTUNE_EMULATOR_SEED: delays, placements, the order of threads.
#include <cstdint>
#include <string_view>

namespace attune::emulator {

/// A generator of its own for a block or a stream.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

/// A number that depends on the seed, the rank, the name and how often this thread has drawn.
std::uint64_t draw(std::string_view name);
/// Sleeps now and then, for up to `most` microseconds, unless the seed is 0.
void dawdle(std::string_view name, unsigned most);

}  // namespace attune::emulator
