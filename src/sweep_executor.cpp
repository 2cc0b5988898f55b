#include "src/sweep_executor.h"

#include "variants/registry.h"

namespace attune::driver {

std::string Executor::why_not(const Communicator& comm, const Problem& problem, const Plan& plan) const {
  if (problem.collective != Collective::allreduce)
    return std::string(name_of(problem.collective)) + " is not in this build";
  if (problem.launch_mode == LaunchMode::graph) return "graphs need the cuda device";
  const Traits& traits = variant(plan.variant).traits;
  if (traits.max_bytes > 0 && problem.bytes() > traits.max_bytes)
    return "takes at most " + std::to_string(traits.max_bytes) + " bytes";
  return comm.why_not(plan.variant);
}

void Executor::run(Communicator& comm, const Problem& problem, const Plan& plan, const Operands& operands) {
  comm.allreduce(operands.in, operands.out, problem.count, problem.dtype, problem.op, plan, operands.epilogue);
}

}  // namespace attune::driver
