#pragma once
/// Random numbers that are the same on every rank, and the seed of a test run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <random>

namespace attune::conformance {

/// One step of splitmix64: a good hash of its argument.
[[nodiscard]] inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}
[[nodiscard]] inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ b); }

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix(state_++); }
  /// Uniform in [0, n).
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<std::int64_t>(list.size()))];
  }

 private:
  std::uint64_t state_;
};

/// A number from the environment, or the given one.
[[nodiscard]] inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 0);
}

/// The seed of this run: ATTUNE_TEST_SEED, or a new one every time. Print it where a failure can be seen.
[[nodiscard]] inline std::uint64_t test_seed() {
  static const std::uint64_t seed = from_environment("ATTUNE_TEST_SEED", std::random_device{}());
  return seed;
}

/// Divides the work of a test where a sanitizer makes it slow.
[[nodiscard]] constexpr int effort(int normal) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return (normal + 5) / 6;
#else
  return normal;
#endif
}

}  // namespace attune::conformance
