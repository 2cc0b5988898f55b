#pragma once
/// What the vendor of the cuda device says that it runs. Declared in every build.
#include <memory>
#include <string>

namespace attune::cuda {

/// While one lives, NCCL writes which algorithm it takes for each call, into a file that nobody else sees. It does so
/// within the call: never while something is timed. One at a time in a process; NCCL tells on rank 0 alone.
class VendorLog {
 public:
  /// Never throws: what is missing is why_not().
  VendorLog();
  ~VendorLog();
  VendorLog(const VendorLog&) = delete;
  VendorLog& operator=(const VendorLog&) = delete;

  /// Empty, or why NCCL cannot be asked here.
  [[nodiscard]] const std::string& why_not() const;
  /// All that was written. Calls are in it once they were enqueued.
  [[nodiscard]] std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune::cuda
