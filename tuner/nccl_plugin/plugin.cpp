/// libnccl-tuner-attune.so: NCCL asks, a dispatch table answers. Where the table has no rule of NCCL's own algorithms,
/// where the algorithm is not available, and for all other collectives, NCCL's own choice stays as it is.
///
/// No exception leaves this file, and get_coll_info always succeeds: NCCL would fail the collective. A table that was
/// named and is malformed fails init (on every rank, since all read the same file): better than a silent default.
#include <exception>
#include <memory>

#include "tuner/nccl_plugin/abi.h"
#include "tuner/nccl_plugin/rules.h"

namespace attune::nccl_plugin {
namespace {

struct Context {
  Rules rules{};
  Logger logger = nullptr;
};

void log(Logger logger, int level, const std::string& text) {
  if (logger != nullptr)
    logger(level, level == log_warn ? log_all : log_tuning, __FILE__, __LINE__, "%s", text.c_str());
}

std::string summary_of(const Rules& rules, std::size_t ranks, std::size_t nodes) {
  const std::size_t count = rules.ranges[0].size() + rules.ranges[1].size();
  const std::string team = std::to_string(ranks) + " ranks on " + std::to_string(nodes) + " nodes";
  if (rules.path.empty()) return "attune: no dispatch table for " + team + " (ATTUNE_TABLE): NCCL decides";
  return "attune: " + rules.path + ": " + std::to_string(count) + " ranges for " + team;
}

int initialise(void** context, std::size_t ranks, std::size_t nodes, Logger logger) noexcept {
  if (context == nullptr) return invalid_usage;
  *context = nullptr;
  try {
    auto made = std::make_unique<Context>();
    made->logger = logger;
    made->rules = rules_for(ranks, nodes, process_environment, ATTUNE_PREFIX, gpu_model());
    for (const auto& note : made->rules.notes) log(logger, log_info, "attune: " + note);
    log(logger, log_info, summary_of(made->rules, ranks, nodes));
    *context = made.release();
    return success;
  } catch (const std::exception& error) {
    if (logger != nullptr) logger(log_warn, log_all, __FILE__, __LINE__, "attune: tuner: %s", error.what());
  } catch (...) {
    if (logger != nullptr) logger(log_warn, log_all, __FILE__, __LINE__, "attune: tuner: unknown failure");
  }
  return invalid_usage;
}

extern "C" {

int init_v4(std::size_t ranks, std::size_t nodes, Logger logger, void** context) {
  return initialise(context, ranks, nodes, logger);
}

int init_v5(void** context, std::uint64_t /*communicator*/, std::size_t ranks, std::size_t nodes, Logger logger,
            void* /*nvlink_domains*/, void* /*constants*/) {
  return initialise(context, ranks, nodes, logger);
}

int get_coll_info(void* context, int collective, std::size_t bytes, int /*pipeline_operations*/, float** cost_table,
                  int algorithms, int protocols, int registered, int* channels) {
  if (context == nullptr || cost_table == nullptr || collective != allreduce) return success;
  const auto& mine = *static_cast<const Context*>(context);
  const auto choice = mine.rules.at(bytes, registered != 0);
  if (!choice || choice->algorithm >= algorithms || choice->protocol >= protocols) return success;
  float& cost = reinterpret_cast<float*>(cost_table)[choice->algorithm * protocols + choice->protocol];
  if (!(cost >= 0)) return success;  // ignored (-1): choosing it would choose what is not there
  cost = 0;
  if (channels != nullptr && choice->channels > 0) *channels = choice->channels;
  if (mine.logger != nullptr)
    mine.logger(log_info, log_tuning, __FILE__, __LINE__,
                "attune: AllReduce of %zu bytes: %s/%s, %d channels (0: NCCL's)", bytes,
                tuner::exports::nccl_algorithms[static_cast<std::size_t>(choice->algorithm)].data(),
                tuner::exports::nccl_protocols[static_cast<std::size_t>(choice->protocol)].data(), choice->channels);
  return success;
}

int finalize(void* context) {
  delete static_cast<Context*>(context);
  return success;
}

}  // extern "C"

}  // namespace
}  // namespace attune::nccl_plugin

extern "C" {
using attune::nccl_plugin::TunerV4, attune::nccl_plugin::TunerV5, attune::nccl_plugin::TunerV6;
[[gnu::visibility("default")]] extern const TunerV4 ncclTunerPlugin_v4;
[[gnu::visibility("default")]] extern const TunerV5 ncclTunerPlugin_v5;
[[gnu::visibility("default")]] extern const TunerV6 ncclTunerPlugin_v6;
const TunerV4 ncclTunerPlugin_v4{"attune", attune::nccl_plugin::init_v4, attune::nccl_plugin::get_coll_info,
                                 attune::nccl_plugin::finalize};
const TunerV5 ncclTunerPlugin_v5{"attune", attune::nccl_plugin::init_v5, attune::nccl_plugin::get_coll_info,
                                 attune::nccl_plugin::finalize};
const TunerV6 ncclTunerPlugin_v6{"attune", attune::nccl_plugin::init_v5, attune::nccl_plugin::get_coll_info,
                                 attune::nccl_plugin::finalize, nullptr};
}
