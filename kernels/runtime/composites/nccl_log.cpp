/// NCCL reads what it shall log once in a process; a function that it exports, though its header lacks it, makes it
/// read again. So the log is on for a few calls, and off again before anything is timed.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "runtime/composites/forced_variable.h"
#include "runtime/composites/nccl_library.h"
#include "runtime/vendor_log.h"

namespace attune::cuda {

namespace {
/// A file of this process alone; where there is none, its name is empty.
std::string private_file() {
  std::error_code none;
  std::string name = (std::filesystem::temp_directory_path(none) / "attune-nccl-XXXXXX").string();
  const int file = none ? -1 : ::mkstemp(name.data());
  if (file < 0) return {};
  ::close(file);
  return name;
}

/// NCCL fills in what follows a % in a file's name.
std::string escaped(const std::string& name) {
  std::string text;
  for (const char letter : name) text += letter == '%' ? "%%" : std::string(1, letter);
  return text;
}
}  // namespace

struct VendorLog::State {
  std::string missing{};
  std::string file{};
  std::optional<ForcedVariable> level{}, subsystem{}, name{};
};

VendorLog::VendorLog() : state_(std::make_unique<State>()) {
  State& state = *state_;
  const char* wish = std::getenv("ATTUNE_NCCL_LOG");
  if (!nccl().missing.empty())
    state.missing = nccl().missing;
  else if (nccl().reset_debug == nullptr)
    state.missing = "this NCCL does not read NCCL_DEBUG again";
  else if (wish != nullptr && std::string(wish) == "0")
    state.missing = "ATTUNE_NCCL_LOG=0";
  else if (std::getenv("NCCL_DEBUG_FILE") != nullptr)
    state.missing = "NCCL_DEBUG_FILE is set: that log is left alone";
  if (!state.missing.empty()) return;
  state.file = private_file();
  if (state.file.empty()) {
    state.missing = std::string("no temporary file can be made: ") + std::strerror(errno);
    return;
  }
  state.level.emplace("NCCL_DEBUG", "INFO");
  state.subsystem.emplace("NCCL_DEBUG_SUBSYS", "TUNING");
  state.name.emplace("NCCL_DEBUG_FILE", escaped(state.file));
  nccl().reset_debug();
}

VendorLog::~VendorLog() {
  if (state_->file.empty()) return;
  state_->level.reset();
  state_->subsystem.reset();
  state_->name.reset();
  nccl().reset_debug();
  ::unlink(state_->file.c_str());
}

const std::string& VendorLog::why_not() const { return state_->missing; }

std::string VendorLog::text() const {
  std::ifstream file(state_->file, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace attune::cuda
