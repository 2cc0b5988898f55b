/// The four validations accept every variant of the product and catch every planted fault.
#include <gtest/gtest.h>

#include <cmath>

#include "src/validate.h"
#include "tests/unit/src/faults.h"
#include "tests/unit/src/local_sweep.h"

namespace attune::driver {
namespace {
using testing::Fault;
using testing::FaultyExecutor;

CellCheck check_with(Fault fault, const Problem& problem, const Plan& plan, double timeout_s = 20) {
  CellCheck check;
  auto shared = std::make_shared<FaultyExecutor::Shared>();
  const auto make = [&](int rank) { return std::make_unique<FaultyExecutor>(fault, rank, shared); };
  TeamRequest request{.timeout_s = timeout_s, .registered_bytes = 1 << 16, .staged_bytes = 1 << 16};
  testing::with_local_workers(problem.ranks, request, make, [&](SweepWorker& worker) {
    const Order order = order_for(OrderKind::validate, problem, plan);
    worker.give(order);
    check = worker.validate(order);
    worker.give({});
  });
  return check;
}

Problem small_problem(int ranks = 2) { return {.count = 100, .ranks = ranks}; }

struct Expectation {
  Fault fault;
  tuner::CellStatus status;
  const char* words;
};
class Faults : public ::testing::TestWithParam<Expectation> {};

TEST_P(Faults, AreCaughtAndNamed) {
  const CellCheck check = check_with(GetParam().fault, small_problem(), {.variant = "mesh"}, 0.5);
  EXPECT_EQ(name_of(check.status), name_of(GetParam().status)) << check.reason;
  EXPECT_NE(check.reason.find(GetParam().words), std::string::npos) << check.reason;
}
TEST_P(Faults, LeaveOtherVariantsAlone) {
  const CellCheck check = check_with(GetParam().fault, small_problem(), {.variant = "two_shot"});
  EXPECT_EQ(check.status, tuner::CellStatus::ok) << check.reason;
}

using tuner::CellStatus;
INSTANTIATE_TEST_SUITE_P(
    All, Faults,
    ::testing::Values(Expectation{Fault::wrong_element, CellStatus::wrong, "rank 1, element 49: got "},
                      Expectation{Fault::skipped_tail, CellStatus::wrong, "element 99: got "},
                      Expectation{Fault::early_read, CellStatus::wrong, "element"},
                      Expectation{Fault::early_return, CellStatus::wrong, "element"},
                      Expectation{Fault::double_counted, CellStatus::wrong, "rank 0, element 99"},
                      Expectation{Fault::spoils_input, CellStatus::wrong, "rank 1: element 0 of the input was changed"},
                      Expectation{Fault::writes_behind, CellStatus::wrong, "behind the output"},
                      Expectation{Fault::rank_dependent, CellStatus::wrong, "rank 1 has other bits"},
                      Expectation{Fault::hangs, CellStatus::timed_out, "timeout"},
                      Expectation{Fault::throws, CellStatus::failed, "planted: rank 1 gives up"}));

class EveryDType : public ::testing::TestWithParam<DType> {};

TEST_P(EveryDType, EveryOpAndEpilogueOfTheProductPasses) {
  auto shared = std::make_shared<FaultyExecutor::Shared>();
  const auto make = [&](int rank) { return std::make_unique<FaultyExecutor>(Fault::none, rank, shared); };
  for (const int ranks : {2, 3, 8}) {
    TeamRequest request{.timeout_s = 20, .registered_bytes = 1 << 14, .staged_bytes = 0};
    testing::with_local_workers(ranks, request, make, [&](SweepWorker& worker) {
      for (const Op op : all_of<Op>())
        for (const EpilogueKind epilogue : all_of<EpilogueKind>())
          for (const char* name : {"two_shot", "ring"}) {
            Problem problem{.dtype = GetParam(), .op = op, .count = 120, .ranks = ranks, .epilogue = epilogue};
            if (epilogue == EpilogueKind::bias) problem.rows = 12, problem.cols = 10;
            const Order order = order_for(OrderKind::validate, problem, {.variant = name});
            worker.give(order);
            const CellCheck check = worker.validate(order);
            EXPECT_EQ(check.status, tuner::CellStatus::ok) << describe(problem) << " " << name << ": " << check.reason;
          }
      worker.give({});
    });
  }
}
INSTANTIATE_TEST_SUITE_P(All, EveryDType, ::testing::ValuesIn(all_of<DType>()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

class FusedKernels : public ::testing::TestWithParam<Collective> {};

TEST_P(FusedKernels, PassAndAreCheckedInBothOutputs) {
  struct Spoiler : Executor {
    void run(Communicator& comm, const Problem& problem, const Plan& plan, const Operands& operands) override {
      Executor::run(comm, problem, plan, operands);
      if (spoil && comm.rank() == 0) static_cast<float*>(operands.normalised)[5] *= 1.01F;
    }
    bool spoil = false;
  };
  for (const bool spoil : {false, true}) {
    const auto make = [&](int) {
      auto executor = std::make_unique<Spoiler>();
      executor->spoil = spoil;
      return executor;
    };
    TeamRequest request{.timeout_s = 20, .registered_bytes = 1 << 14, .staged_bytes = 1 << 14, .fused = true};
    testing::with_local_workers(3, request, make, [&](SweepWorker& worker) {
      for (const Memory memory : {Memory::registered, Memory::staged}) {
        Problem problem{.collective = GetParam(), .count = 7 * 48, .rows = 7, .cols = 48, .ranks = 3, .memory = memory};
        const Order order = order_for(OrderKind::validate, problem, {.variant = std::string(name_of(GetParam()))});
        worker.give(order);
        const CellCheck check = worker.validate(order);
        EXPECT_EQ(check.status, spoil ? tuner::CellStatus::wrong : tuner::CellStatus::ok) << check.reason;
        EXPECT_EQ(check.reason.find("normalised: rank 0, element 5"), spoil ? 0 : std::string::npos) << check.reason;
      }
      worker.give({});
    });
  }
}
INSTANTIATE_TEST_SUITE_P(All, FusedKernels,
                         ::testing::Values(Collective::reduce_scatter_rms_norm, Collective::allreduce_rms_norm));

TEST(TestData, ExactResultsAreExactInAnyOrderForAllDTypesAndRankCounts) {
  for (const DType dtype : all_of<DType>())
    for (const Op op : all_of<Op>())
      for (int ranks = 1; ranks <= 8; ++ranks) {
        const ValueMaker values({.dtype = dtype, .op = op, .count = 1, .ranks = ranks}, false, 3);
        const double most = std::array{1e15, 16777216.0, 2048.0, 256.0, 16.0, 8.0, 127.0, 255.0, 2e9, 4e9, 1e15, 1e15}
            [static_cast<std::size_t>(dtype)];
        for (Index i = 0; i < 300; ++i) {
          double size = op == Op::prod ? 1 : 0;
          double sum = 0;
          for (int r = 0; r < ranks; ++r) {
            const double value = values.input(r, i);
            EXPECT_EQ(value, std::floor(value));
            size = op == Op::prod ? size * std::abs(value) : size + std::abs(value);
            sum += value;
          }
          const bool picks = op == Op::min || op == Op::max;
          EXPECT_LE(size, picks ? most * ranks : most) << name_of(dtype) << " " << name_of(op) << " " << ranks;
          if (op == Op::avg) {
            EXPECT_EQ(std::fmod(sum, ranks), 0) << name_of(dtype);
          }
        }
      }
}

TEST(TestData, InputsDifferBetweenRanksPositionsAndCalls) {
  const Problem problem{.count = 5000, .ranks = 2};
  const TestData one(problem, DataKind::exact, 0, 1), two(problem, DataKind::exact, 1, 1);
  std::vector<float> a(5000), b(5000);
  one.fill_input(a.data(), 0);
  two.fill_input(b.data(), 0);
  EXPECT_NE(a, b);
  EXPECT_FALSE(one.changed_input(a.data(), 0));
  EXPECT_EQ(one.changed_input(a.data(), 1), 0);
  EXPECT_NE(a[0], a[1]);
}

TEST(ErrorBound, ScalesWithTheClass) {
  const Problem problem{.dtype = DType::bf16, .count = 1, .ranks = 4};
  const double once = error_bound(problem, Numerics::rank_order).at(1, 4);
  const double hops = error_bound(problem, Numerics::per_hop).at(1, 4);
  EXPECT_GT(once, std::ldexp(1, -8));
  EXPECT_LT(once, std::ldexp(1, -7));
  EXPECT_GT(hops, 4 * once);
  EXPECT_EQ(error_bound({.dtype = DType::i32}, Numerics::vendor).at(100, 100), 0);
}

}  // namespace
}  // namespace attune::driver
