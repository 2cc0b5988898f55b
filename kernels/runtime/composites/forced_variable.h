#pragma once
/// A variable of the environment for a scope. Some libraries read their settings there alone, when something is made.
#include <cstdlib>
#include <string>

namespace attune {

class ForcedVariable {
 public:
  /// An empty value leaves the variable as it is.
  ForcedVariable(const char* name, const std::string& value) : name_(name) {
    if (value.empty()) return;
    const char* before = std::getenv(name);
    if (before != nullptr) before_ = before;
    had_ = before != nullptr;
    set_ = true;
    ::setenv(name, value.c_str(), 1);
  }
  ~ForcedVariable() {
    if (set_ && had_) ::setenv(name_, before_.c_str(), 1);
    if (set_ && !had_) ::unsetenv(name_);
  }
  ForcedVariable(const ForcedVariable&) = delete;
  ForcedVariable& operator=(const ForcedVariable&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool had_ = false;
  bool set_ = false;
};

}  // namespace attune
