#pragma once
/// The binary interface between NCCL and a tuner plugin, versions 4 to 6: only its layout, so that neither NCCL nor its
/// headers are needed to build. NCCL looks for `ncclTunerPlugin_v6`, then `_v5`, then `_v4`.
#include <cstddef>
#include <cstdint>

namespace attune::nccl_plugin {

/// ncclResult_t
inline constexpr int success = 0;
inline constexpr int invalid_usage = 5;
/// ncclDebugLogLevel and ncclDebugLogSubSys
inline constexpr int log_warn = 2;
inline constexpr int log_info = 3;
inline constexpr unsigned long log_tuning = 0x40;
inline constexpr unsigned long log_all = ~0UL;
/// ncclFunc_t
inline constexpr int allreduce = 4;
/// An algorithm and protocol that is not available costs -1; of all others the cheapest wins.
inline constexpr float ignored = -1.0F;

extern "C" {
using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

/// The cost table is really float[algorithms][protocols], whatever its type says. `channels` is left alone for NCCL's
/// own number.
using GetCollInfo = int (*)(void* context, int collective, std::size_t bytes, int pipeline_operations,
                            float** cost_table, int algorithms, int protocols, int registered, int* channels);
using Finalize = int (*)(void* context);

struct TunerV4 {
  const char* name;
  int (*init)(std::size_t ranks, std::size_t nodes, Logger logger, void** context);
  GetCollInfo get_coll_info;
  Finalize destroy;
};

/// NVLink domains and the constants of NCCL's model are not looked at: their types do not matter.
using InitV5 = int (*)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes, Logger logger,
                       void* nvlink_domains, void* constants);
struct TunerV5 {
  const char* name;
  InitV5 init;
  GetCollInfo get_coll_info;
  Finalize finalize;
};
struct TunerV6 {
  const char* name;
  InitV5 init;
  GetCollInfo get_coll_info;
  Finalize finalize;
  int (*get_chunk_size)(void*, int, std::size_t, int, int, int, std::size_t*);  ///< May be null.
};
}

}  // namespace attune::nccl_plugin
