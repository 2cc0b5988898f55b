#pragma once
/// What a sweep says while it runs: one line per case, and on a terminal a bar with the time that is left.
#include <functional>
#include <string>

namespace attune::driver {

/// Does standard output end on a terminal? Launchers give their ranks a pseudo-terminal whatever their own output is:
/// then the launcher's counts.
[[nodiscard]] bool output_is_terminal();

class Progress {
 public:
  /// Texts go to `print`, whole lines on a pipe; on a terminal the bar is rewritten in place. `clock_s`: seconds.
  Progress(bool terminal, std::function<void(const std::string&)> print, std::function<double()> clock_s);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A line that stays.
  void line(const std::string& text);
  /// How much of the work is done (0…1), and what is being done. On a pipe nothing is printed.
  void update(double done, const std::string& what);

  /// "1:05 left": of the elapsed time and the share done; empty before 1 %.
  [[nodiscard]] static std::string time_left(double elapsed_s, double done);
  /// "[#####-----]"
  [[nodiscard]] static std::string bar(double done, int width);

 private:
  void clear();

  bool terminal_;
  std::function<void(const std::string&)> print_;
  std::function<double()> clock_s_;
  double start_s_;
  double shown_s_ = -1;
  std::string shown_;
};

}  // namespace attune::driver
