#include "random.h"

#include <chrono>
#include <functional>
#include <thread>

#include "settings.h"

namespace attune::emulator {

std::uint64_t draw(std::string_view name) {
  thread_local std::uint64_t drawn = 0;
  const std::uint64_t where = std::hash<std::string_view>{}(name) ^ static_cast<std::uint64_t>(settings().rank) << 32U;
  ++drawn;
  return Chance(settings().seed ^ where ^ drawn << 48U ^ drawn).next();
}

void dawdle(std::string_view name, unsigned most) {
  if (settings().seed == 0) return;
  const auto chance = draw(name);
  if (chance % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(chance / 4 % most));
}

}  // namespace attune::emulator
