#pragma once
/// The clock of the GPU's multiprocessors, and whether something holds it down, from the driver's management library
/// where it is installed. Declared in every build.
#include <memory>
#include <string>

namespace attune::cuda {

struct ClockSample {
  int sm_mhz = 0;          ///< 0 = unknown.
  bool throttled = false;  ///< Held down by heat, power or hardware; an idle GPU is not throttled.
};

class Clocks {
 public:
  /// Of the current device. Never throws: what is missing is why_not().
  Clocks();
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
