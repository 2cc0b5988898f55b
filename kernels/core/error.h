#pragma once
/// The one error type. Exceptions are for misuse and for what cannot go on; a cell that fails in a
/// sweep is a status in its record. The library throws, only `src/` prints and exits.
#include <stdexcept>
#include <string>

namespace attune {

/// Exit codes of the program, as nccl-tests numbers them.
enum class Status : int {
  success = 0,
  internal = 1,
  device = 2,
  vendor = 3,
  timeout = 4,
  unsupported = 5,
  usage = 6,  ///< Bad usage, configuration or file.
  wrong = 7,  ///< Wrong results, or below a given threshold.
};

/// "what, where, what to do" in one line, and the exit code that it leads to.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& what, const std::string& remedy = {})
      : std::runtime_error(remedy.empty() ? what : what + "; " + remedy), status_(status) {}
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

}  // namespace attune
