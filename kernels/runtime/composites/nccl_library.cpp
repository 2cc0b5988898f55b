#include "runtime/composites/nccl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "runtime/cuda_backend.h"

namespace attune::cuda {

namespace {
template <class F>
void find(void* handle, const char* name, F& function, std::string& missing) {
  function = reinterpret_cast<F>(::dlsym(handle, name));
  if (function == nullptr && missing.empty()) missing = fmt::format("libnccl has no {}", name);
}

NcclLibrary load() {
  NcclLibrary library;
  const char* named = std::getenv("ATTUNE_NCCL_LIBRARY");
  void* handle = ::dlopen(named != nullptr ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    library.missing = fmt::format("NCCL cannot be loaded: {}", ::dlerror());
    return library;
  }
  std::string& missing = library.missing;
  find(handle, "ncclGetVersion", library.get_version, missing);
  find(handle, "ncclGetUniqueId", library.get_unique_id, missing);
  find(handle, "ncclCommInitRankConfig", library.comm_init, missing);
  find(handle, "ncclCommDestroy", library.comm_destroy, missing);
  find(handle, "ncclCommAbort", library.comm_abort, missing);
  find(handle, "ncclCommGetAsyncError", library.async_error, missing);
  find(handle, "ncclGetErrorString", library.error_string, missing);
  find(handle, "ncclGetLastError", library.last_error, missing);
  find(handle, "ncclAllReduce", library.all_reduce, missing);
  find(handle, "ncclReduce", library.reduce, missing);
  find(handle, "ncclReduceScatter", library.reduce_scatter, missing);
  find(handle, "ncclGroupStart", library.group_start, missing);
  find(handle, "ncclGroupEnd", library.group_end, missing);
  std::string optional;
  find(handle, "ncclMemAlloc", library.mem_alloc, optional);
  find(handle, "ncclMemFree", library.mem_free, optional);
  find(handle, "ncclCommWindowRegister", library.window_register, optional);
  find(handle, "ncclCommWindowDeregister", library.window_deregister, optional);
  find(handle, "ncclResetDebugInit", library.reset_debug, optional);
  int version = 0;
  if (missing.empty() && library.get_version(&version) == ncclSuccess)
    library.version = fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  return library;
}
}  // namespace

const NcclLibrary& nccl() {
  static const NcclLibrary library = load();
  return library;
}

std::string vendor_version() { return nccl().version; }

std::string fault_of(ncclResult_t code, const char* call, const Place& place, const std::source_location& where) {
  if (code == ncclSuccess) return {};
  std::string_view file = where.file_name();
  file.remove_prefix(std::min(file.size(), file.find_last_of('/') + 1));
  const char* last = nccl().last_error(nullptr);
  return fmt::format("{} at {}:{} on rank {}, device {}: {}{}", call, file, where.line(), place.rank, place.device,
                     nccl().error_string(code),
                     last != nullptr && *last != '\0' ? fmt::format(" ({})", last) : std::string());
}

void check_nccl(ncclResult_t code, const char* call, const Place& place, const std::source_location& where) {
  if (std::string fault = fault_of(code, call, place, where); !fault.empty())
    throw Error(refuses(code) ? Status::unsupported : Status::vendor, fault, "NCCL_DEBUG=INFO tells more");
}

}  // namespace attune::cuda
