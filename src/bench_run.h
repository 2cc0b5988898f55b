#pragma once
/// Measuring and checking one row of `attune bench`.
#include <optional>
#include <string>
#include <vector>

#include "src/bench_flags.h"
#include "src/measure.h"
#include "src/sweep_team.h"

namespace attune::driver {

/// The vendor's time over attune's: above 1 attune is faster. From pairs of calls, interleaved.
struct BenchRatio {
  double median = 1;
  double low = 0;  ///< 99 % interval; 0, 0 = too few pairs to say.
  double high = 0;
  double vendor_us = 0;
};

/// One placement of one size. Equal on all ranks.
struct BenchHalf {
  double time_us = 0;  ///< Negative: none (an emulated GPU).
  Index wrong = -1;    ///< Elements, over all ranks and checks; -1 = not checked.
  std::string first_wrong{};
  Plan plan{};
  std::string answered{};  ///< Which step of the look-up gave the plan.
  std::string ran{};       ///< What the vendor says that it ran; empty where it does not tell.
  std::optional<BenchRatio> ratio{};
};

struct BenchRow {
  DType dtype = DType::f32;
  Op op = Op::sum;
  Bytes bytes = 0;
  BenchHalf half[2]{};  ///< By Placement.
};

/// GB/s (1e9) of the whole message, and corrected by what an allreduce of n ranks must move over each link at least.
[[nodiscard]] double algorithm_bandwidth(Bytes bytes, double time_us);
[[nodiscard]] double bus_bandwidth(Bytes bytes, double time_us, int ranks);

class BenchRunner {
 public:
  BenchRunner(SweepTeam& team, const BenchRequest& request) : team_(team), request_(request) {}

  /// Collective. Throws what the calls throw, and Error(unsupported) for a plan that cannot run here.
  [[nodiscard]] BenchRow row(DType dtype, Op op, Bytes bytes);

 private:
  /// Calls with a plan by hand, or lets the table choose, as an application does.
  class Calls : public Executor {
   public:
    bool by_table = false;
    void enqueue(Communicator& comm, const Problem& problem, const Plan& plan, const Operands& operands,
                 void* stream) override;
  };

  [[nodiscard]] BenchHalf half(const Problem& problem);
  [[nodiscard]] std::string choice_of(const Problem& problem) const;
  void call(const Problem& problem, const Plan& plan, const Operands& operands);
  void fill_input(const Problem& problem, const Plan& plan);
  [[nodiscard]] std::string first_call(const Problem& problem, const Plan& plan);
  [[nodiscard]] double back_to_back_on_gpu(const Problem& problem, const Plan& plan);
  [[nodiscard]] double back_to_back(const Problem& problem, const Plan& plan);
  [[nodiscard]] double over_ranks(double mine);
  void isolated(const Problem& problem, BenchHalf& half);
  [[nodiscard]] double isolated_call(Measurer& measurer, const Problem& problem, const Plan& plan, bool by_table,
                                     bool& good);
  void check(const Problem& problem, BenchHalf& half);

  SweepTeam& team_;
  const BenchRequest& request_;
  Calls calls_;
};

}  // namespace attune::driver
