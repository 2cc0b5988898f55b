#pragma once
/// Executors with planted faults: what a wrong algorithm would do to its callers.
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "src/sweep_executor.h"

namespace attune::driver::testing {

enum class Fault {
  none,
  wrong_element,   ///< One element of one rank is off by one.
  skipped_tail,    ///< The last element is not written.
  early_read,      ///< Peers' inputs are read before they are ready.
  early_return,    ///< Returns while a peer still reads this rank's input.
  double_counted,  ///< One rank's data counts twice, another's not at all.
  spoils_input,
  writes_behind,
  rank_dependent,  ///< Right within its bound, but other bits on each rank.
  hangs,           ///< One rank comes too late for the others' patience.
  throws
};

/// The product's executor, but `mesh` has the fault. Threads of one process: peers' buffers are found in `shared`.
class FaultyExecutor : public Executor {
 public:
  struct Shared {
    std::vector<const float*> in = std::vector<const float*>(8, nullptr);
  };
  FaultyExecutor(Fault fault, int rank, std::shared_ptr<Shared> shared)
      : fault_(fault), rank_(rank), shared_(std::move(shared)) {}

  void run(Communicator& comm, const Problem& problem, const Plan& plan, const Operands& operands) override {
    if (plan.variant != "mesh" || fault_ == Fault::none) return Executor::run(comm, problem, plan, operands);
    auto* out = static_cast<float*>(operands.out);
    const auto last = static_cast<std::size_t>(problem.count - 1);
    switch (fault_) {
      case Fault::early_read:
      case Fault::early_return:
        return unsynchronised(comm, problem, operands);
      case Fault::throws:
        if (rank_ == 1) throw Error(Status::internal, "planted: rank 1 gives up");
        break;
      case Fault::hangs:
        if (rank_ == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        break;
      default:
        break;
    }
    const float kept = out[last];
    Executor::run(comm, problem, plan, operands);
    if (fault_ == Fault::skipped_tail) out[last] = kept;
    if (fault_ == Fault::wrong_element && rank_ == 1) out[last / 2] += 1;
    if (fault_ == Fault::double_counted && rank_ == 0) out[last] += static_cast<const float*>(operands.in)[last];
    if (fault_ == Fault::spoils_input && rank_ == 1) static_cast<float*>(operands.in)[0] += 1;
    if (fault_ == Fault::writes_behind) out[last + 1] = 0;
    if (fault_ == Fault::rank_dependent && rank_ == 1) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &out[0], sizeof bits);
      if (out[0] != std::floor(out[0])) bits ^= 1;  // exact data are integers
      std::memcpy(&out[0], &bits, sizeof bits);
    }
  }

 private:
  /// A one-shot pull without its first (early_read) or its last (early_return) barrier.
  void unsynchronised(Communicator& comm, const Problem& problem, const Operands& operands) {
    shared_->in[static_cast<std::size_t>(rank_)] = static_cast<const float*>(operands.in);
    float zero = 0, ignored = 0;
    const auto barrier = [&] { comm.allreduce(&zero, &ignored, 1, DType::f32, Op::sum, Plan{.variant = "two_shot"}); };
    if (!met_ || fault_ == Fault::early_return) barrier();
    met_ = true;
    if (fault_ == Fault::early_return && rank_ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    auto* out = static_cast<float*>(operands.out);
    for (Index i = 0; i < problem.count; ++i) {
      float sum = 0;
      for (int r = 0; r < comm.size(); ++r) sum += shared_->in[static_cast<std::size_t>(r)][i];
      out[i] = sum;
    }
    if (fault_ == Fault::early_read) barrier();
  }

  Fault fault_;
  int rank_;
  std::shared_ptr<Shared> shared_;
  bool met_ = false;
};

}  // namespace attune::driver::testing
