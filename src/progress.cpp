#include "src/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace attune::driver {

namespace {
constexpr double redraw_every_s = 0.2;

std::string link_target(const std::string& path) {
  std::array<char, 256> target{};
  return ::readlink(path.c_str(), target.data(), target.size() - 1) > 0 ? target.data() : "";
}
}  // namespace

bool output_is_terminal() {
  if (::isatty(STDOUT_FILENO) == 0) return false;
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr && std::getenv("PMI_RANK") == nullptr) return true;
  const std::string launcher = link_target("/proc/" + std::to_string(::getppid()) + "/fd/1");
  return launcher.starts_with("/dev/pts/") || launcher.starts_with("/dev/tty");
}

Progress::Progress(bool terminal, std::function<void(const std::string&)> print, std::function<double()> clock_s)
    : terminal_(terminal), print_(std::move(print)), clock_s_(std::move(clock_s)), start_s_(clock_s_()) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (!shown_.empty()) print_("\r\033[K");
  shown_.clear();
}

void Progress::line(const std::string& text) {
  const std::string again = shown_;
  clear();
  print_(text + "\n");
  if (again.empty()) return;
  print_(again);
  shown_ = again;
}

void Progress::update(double done, const std::string& what) {
  if (!terminal_ || (shown_s_ >= 0 && clock_s_() - shown_s_ < redraw_every_s)) return;
  shown_s_ = clock_s_();
  clear();
  const std::string left = time_left(shown_s_ - start_s_, done);
  shown_ = fmt::format("{} {:3.0f} %{} {}", bar(done, 20), 100 * done, left.empty() ? "" : ", " + left, what);
  print_(shown_);
}

std::string Progress::time_left(double elapsed_s, double done) {
  if (done < 0.01 || done >= 1) return {};
  const auto left = static_cast<long>(elapsed_s * (1 - done) / done + 0.5);
  if (left >= 3600) return fmt::format("{}:{:02}:{:02} left", left / 3600, left / 60 % 60, left % 60);
  return fmt::format("{}:{:02} left", left / 60, left % 60);
}

std::string Progress::bar(double done, int width) {
  const int full = std::clamp(static_cast<int>(done * width), 0, width);
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(width - full), '-') + "]";
}

}  // namespace attune::driver
