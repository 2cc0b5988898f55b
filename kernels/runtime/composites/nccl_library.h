#pragma once
/// NCCL, loaded at run time: a program that was built with it starts where it is missing, and says so.
#include <nccl.h>

#include <source_location>
#include <string>

#include "runtime/cuda_check.h"

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 27, 0)  // as the header of a later one has them
using ncclWindow_t = struct ncclWindow*;
constexpr int NCCL_WIN_COLL_SYMMETRIC = 1;
#endif

namespace attune::cuda {

/// The functions that are used. Pointers are valid when `missing` is empty.
struct NcclLibrary {
  std::string missing{};  ///< Why it cannot be used.
  std::string version{};  ///< "NCCL 2.28.9": of the library that was loaded.
  decltype(&::ncclGetVersion) get_version = nullptr;
  decltype(&::ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&::ncclCommInitRankConfig) comm_init = nullptr;
  decltype(&::ncclCommDestroy) comm_destroy = nullptr;
  decltype(&::ncclCommAbort) comm_abort = nullptr;
  decltype(&::ncclCommGetAsyncError) async_error = nullptr;
  decltype(&::ncclGetErrorString) error_string = nullptr;
  decltype(&::ncclGetLastError) last_error = nullptr;
  decltype(&::ncclAllReduce) all_reduce = nullptr;
  decltype(&::ncclReduce) reduce = nullptr;
  decltype(&::ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&::ncclGroupStart) group_start = nullptr;
  decltype(&::ncclGroupEnd) group_end = nullptr;
  // Null where this NCCL lacks them:
  decltype(&::ncclMemAlloc) mem_alloc = nullptr;
  decltype(&::ncclMemFree) mem_free = nullptr;
  ncclResult_t (*window_register)(ncclComm_t, void*, std::size_t, ncclWindow_t*, int) = nullptr;
  ncclResult_t (*window_deregister)(ncclComm_t, ncclWindow_t) = nullptr;
  void (*reset_debug)() = nullptr;  ///< Reads NCCL_DEBUG and its like again.
};

/// Loaded at the first call, once per process (ATTUNE_NCCL_LIBRARY names another file than libnccl.so.2).
[[nodiscard]] const NcclLibrary& nccl();

/// "ncclAllReduce at …: unhandled cuda error (last: …)", or empty for success.
[[nodiscard]] std::string fault_of(ncclResult_t code, const char* call, const Place& place,
                                   const std::source_location& where = std::source_location::current());
/// Does NCCL say that it cannot do this, as it says to all ranks? It has done nothing then, and goes on.
[[nodiscard]] constexpr bool refuses(ncclResult_t code) {
  return code == ncclInvalidArgument || code == ncclInvalidUsage;
}
/// Throws Error(vendor) with that text; Error(unsupported) for what NCCL refuses.
void check_nccl(ncclResult_t code, const char* call, const Place& place,
                const std::source_location& where = std::source_location::current());

}  // namespace attune::cuda
