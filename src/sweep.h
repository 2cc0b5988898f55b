#pragma once
/// attune sweep: all rank counts of a configuration, one after the other, and the run folder.
#include <string>

#include "dispatch/json.h"
#include "src/mpi_session.h"
#include "src/sweep_executor.h"

namespace attune::driver {

struct SweepRequest {
  std::string config;               ///< Path of the configuration.
  std::string out;                  ///< Run folder.
  bool resume = false;              ///< Go on with what the last launch left.
  bool append = false;              ///< Measure everything once more, as another launch.
  int local = 0;                    ///< cuda: so many ranks are streams of one GPU, in this process; 0: as launched.
  Json overrides = Json::object();  ///< Keys of the configuration that the command line replaces.
};

/// Collective over the session's world. Success, or wrong or timeout when a cell ended so. Throws Error on all ranks
/// for what ends the run.
[[nodiscard]] Status run_sweep(MpiSession& session, const SweepRequest& request, Executor& executor);

}  // namespace attune::driver
