#pragma once
/// The clock of the GPU's multiprocessors, and whether something holds it down, from the driver's management library
/// where it is installed. Declared in every build.
#include <cstdint>
#include <memory>
#include <string>

namespace attune::cuda {

struct ClockSample {
  int sm_mhz = 0;               ///< 0 = unknown.
  std::uint32_t held_down = 0;  ///< What holds it down (heat, power, hardware), as words_of says; an idle GPU is not.

  [[nodiscard]] bool throttled() const { return held_down != 0; }
};
/// "power cap, heat": what holds the clock down, of several samples when their bits are put together.
[[nodiscard]] std::string words_of(std::uint32_t held_down);

class Clocks {
 public:
  /// Of this device; -1 = the current one. Never throws: what is missing is why_not().
  explicit Clocks(int device = -1);
  ~Clocks();
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;

  /// Empty, or why clocks cannot be read here.
  [[nodiscard]] std::string why_not() const;
  [[nodiscard]] ClockSample sample() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune::cuda
