#pragma once
/// The four proofs that a cell must pass before it is timed: exact data bit for bit, random data against fp64 and the
/// vendor, nothing written where it must not be, the same bits on all ranks.
#include "src/measure.h"
#include "src/validate_data.h"

namespace attune::driver {

/// Equal on all ranks. `reason` names rank, element, got and want.
struct CellCheck {
  tuner::CellStatus status = tuner::CellStatus::ok;
  std::string reason;
};

/// Validates the cells of one problem. Every call of it is collective over the team.
class Validator {
 public:
  Validator(SweepTeam& team, Executor& executor, const Problem& problem, std::uint64_t seed);

  [[nodiscard]] CellCheck check(const Plan& plan);
  /// Results are compared with fp64 alone from now on.
  void forget_vendor() { vendor_fails_ = true; }
  /// Has the last check ended with the call of the vendor, that the result was to be compared with?
  [[nodiscard]] bool vendor_has_failed() const { return ended_with_vendor_; }

 private:
  /// What one rank found after a call.
  struct Verdict {
    CallOutcome outcome;
    std::uint64_t bits = 0;  ///< Hash of the output.
  };
  [[nodiscard]] Verdict call(TestData& data, const Plan& plan, bool scribble);
  void check_memory(Verdict& verdict, const TestData& data, bool scribbled) const;
  void check_normalised(Verdict& verdict) const;
  [[nodiscard]] Numerics numerics_of(const Plan& plan) const;
  [[nodiscard]] Verdict exact_call(const Plan& plan, bool scribble);
  [[nodiscard]] Verdict random_call(const Plan& plan);
  [[nodiscard]] CellCheck agree(const Verdict& mine, bool same_bits);
  void come_late_in_turn();
  void look_at_operands(const Plan& plan);
  [[nodiscard]] const HostImage& output() const { return problem_.placement == Placement::in_place ? in_ : out_; }

  SweepTeam& team_;
  Executor& executor_;
  Problem problem_;
  TestData exact_;
  TestData random_;
  Operands operands_;
  HostImage in_;  ///< What the host sees of them; `in place` the output is the input.
  HostImage out_;
  HostImage normalised_;
  int images_of_ = 0;  ///< Which communicator, counted as SweepTeam::replaced.
  Index outputs_ = 0;  ///< Elements that this rank gets out.
  bool vendor_fails_ = false;
  bool ended_with_vendor_ = false;
  std::vector<std::byte> vendor_out_;  ///< Of random data, call 0; empty if there is no vendor.
  int calls_ = 0;                      ///< Which data; begins anew with random data.
  int turn_ = 0;                       ///< Calls so far: whose turn it is to be late.
};

}  // namespace attune::driver
