#include "src/sweep_executor.h"

#include "runtime/symmetric_memory.h"
#include "variants/registry.h"

namespace attune::driver {

Span output_of(const Problem& problem, int rank) {
  if (problem.collective != Collective::reduce_scatter_rms_norm) return {0, problem.count};
  const Span rows = rows_of(problem.rows, rank, problem.ranks);
  return {rows.first * problem.cols, rows.count * problem.cols};
}

namespace {
std::string why_not_fused(const Problem& problem, const Plan& plan) {
  const bool known = problem.dtype == DType::f32 || problem.dtype == DType::f16 || problem.dtype == DType::bf16;
  if (!known) return "the fused kernels take f32, f16 and bf16";
  if (problem.op != Op::sum) return "the fused kernels sum";
  if (problem.placement == Placement::in_place) return "measured out of place only";
  const bool adds = problem.epilogue == EpilogueKind::residual && problem.collective == Collective::allreduce_rms_norm;
  if (problem.epilogue != EpilogueKind::none && !adds) return "has no such epilogue";
  if (plan.variant.starts_with("vendor:")) return "the vendor's own choices are for allreduce";
  return {};
}
}  // namespace

std::string Executor::why_not(const Communicator& comm, const Problem& problem, const Plan& plan) const {
  if (problem.collective != Collective::allreduce)
    if (std::string reason = why_not_fused(problem, plan); !reason.empty()) return reason;
  if (problem.launch_mode == LaunchMode::graph) {
    if (comm.device() == DeviceKind::host) return "graphs need the cuda device";
    if (plan.variant == "naive") return "waits for the host, which a graph cannot hold";
  }
  if (plan.variant == cuda::symmetric_choice && problem.memory == Memory::staged)
    return "windows are memory that peers can address";
  const Traits& traits = variant(plan.variant).traits;
  if (traits.max_bytes > 0 && problem.bytes() > traits.max_bytes)
    return "takes at most " + std::to_string(traits.max_bytes) + " bytes";
  return comm.why_not(plan.variant);
}

void Executor::enqueue(Communicator& comm, const Problem& problem, const Plan& plan, const Operands& operands,
                       void* stream) {
  if (problem.collective != Collective::allreduce)
    return comm.fused({problem.collective, operands.in, operands.epilogue.operand, operands.out, operands.normalised,
                       problem.rows, problem.cols, problem.dtype, operands.norm, stream},
                      plan);
  comm.allreduce(
      {operands.in, operands.out, problem.count, problem.dtype, problem.op, operands.epilogue, nullptr, stream}, plan);
}

}  // namespace attune::driver
