#pragma once
/// One call of one cell, as the measuring and the validation make it. Tests replace it by one with planted faults.
#include <string>

#include "attune/attune.hpp"

namespace attune::driver {

/// What a call works on, on this rank.
struct Operands {
  void* in = nullptr;
  void* out = nullptr;         ///< The same as `in` when the problem is in place.
  EpilogueSpec epilogue;       ///< Its operand is the residual of the fused kernels, too.
  void* normalised = nullptr;  ///< Fused kernels only: their second output,
  RmsNormSpec norm;            ///< and how the rows are normalised.
};

/// Elements that this rank gets out: all, or its own rows of reduce_scatter_rms_norm.
[[nodiscard]] Span output_of(const Problem& problem, int rank);

class Executor {
 public:
  virtual ~Executor() = default;
  /// Empty, or why this cell cannot run here: it is then recorded as unsupported.
  [[nodiscard]] virtual std::string why_not(const Communicator& comm, const Problem& problem, const Plan& plan) const;
  /// Blocking. Throws what the communicator throws.
  virtual void run(Communicator& comm, const Problem& problem, const Plan& plan, const Operands& operands) {
    enqueue(comm, problem, plan, operands, nullptr);
  }
  /// The same on a stream of a GPU, returning before it is done; a null stream blocks.
  virtual void enqueue(Communicator& comm, const Problem& problem, const Plan& plan, const Operands& operands,
                       void* stream);
};

}  // namespace attune::driver
