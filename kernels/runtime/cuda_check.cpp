#include "runtime/cuda_check.h"

#include <algorithm>
#include <string_view>

namespace attune::cuda {

std::string describe(cudaError_t code, const char* call, const Place& place, const std::source_location& where) {
  std::string_view file = where.file_name();
  file.remove_prefix(std::min(file.size(), file.find_last_of('/') + 1));
  std::string text = std::string(call) + " at " + std::string(file) + ":" + std::to_string(where.line());
  if (place.rank >= 0) text += " on rank " + std::to_string(place.rank);
  if (place.device >= 0) text += (place.rank >= 0 ? ", device " : " on device ") + std::to_string(place.device);
  return text + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")";
}

}  // namespace attune::cuda
