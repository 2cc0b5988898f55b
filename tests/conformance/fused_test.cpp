/// The fused kernels: the sum has the bits of two_shot's sum (with a residual: of the addition after it), the
/// normalised rows are within 1 ulp (f32: 2 ulp) of the norm in double precision of the rounded sum, over ranks, odd
/// row lengths, fewer rows than ranks, blocks, registered and staged buffers.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "attune/attune.hpp"

namespace attune {
namespace {

/// Bits on a line where neighbours differ by one.
template <class T>
std::int64_t place(T value) {
  if constexpr (std::is_same_v<T, float>) {
    const auto bits = std::bit_cast<std::int32_t>(value);
    return bits < 0 ? -std::int64_t{bits & 0x7FFFFFFF} : bits;
  } else {
    const int bits = value.bits;
    return (bits & 0x8000) != 0 ? -(bits & 0x7FFF) : bits;
  }
}

struct Shape {
  Index rows;
  Index cols;
};

template <class T>
struct Case {
  Communicator& comm;
  Shape shape;
  int blocks;
  bool staged;
  bool everywhere;
  bool residual;
  RmsNormSpec norm;
  Index count = shape.rows * shape.cols;
  std::vector<T> gamma = numbers(99, shape.cols);
  std::vector<T> added = numbers(7, count);

  static std::vector<T> numbers(unsigned seed, Index n) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-2, 2);
    std::vector<T> made(static_cast<std::size_t>(n));
    for (auto& x : made) x = narrow_one<T>(uniform(random));
    return made;
  }

  /// The reduction alone, element by element as a program without fusion does it.
  std::vector<T> unfused_sum(const std::vector<T>& mine) const {
    std::vector<T> sum(mine.size());
    comm.allreduce(mine.data(), sum.data(), count, dtype_of<T>, Op::sum, Plan{.variant = "two_shot"});
    for (std::size_t i = 0; residual && i < sum.size(); ++i)
      sum[i] = narrow_one<T>(widen_one(sum[i]) + widen_one(added[i]));
    return sum;
  }

  void expect_row(const T* sum, const T* normalised, const T* want, Index row) const {
    constexpr std::int64_t allowed = std::is_same_v<T, float> ? 2 : 1;
    double squares = 0;
    for (Index i = 0; i < shape.cols; ++i) squares += std::pow(static_cast<double>(widen_one(want[i])), 2);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(shape.cols) + norm.epsilon);
    for (Index i = 0; i < shape.cols; ++i) {
      ASSERT_EQ(place(sum[i]), place(want[i])) << where(row, i);
      const double weight = static_cast<double>(widen_one(gamma[static_cast<std::size_t>(i)])) + norm.weight_offset;
      const auto exact = static_cast<float>(static_cast<double>(widen_one(want[i])) * scale * weight);
      const std::int64_t off = std::abs(place(normalised[i]) - place(narrow_one<T>(exact)));
      ASSERT_LE(off, allowed) << where(row, i) << ": got " << widen_one(normalised[i]) << ", want " << exact;
    }
  }
  std::string where(Index row, Index col) const {
    return std::string(everywhere ? "allreduce " : "reduce_scatter ") + std::string(name_of(dtype_of<T>)) + " " +
           std::to_string(shape.rows) + "x" + std::to_string(shape.cols) + " ranks " + std::to_string(comm.size()) +
           (staged ? " staged" : " registered") + (residual ? " residual" : "") + " blocks " + std::to_string(blocks) +
           " at row " + std::to_string(row) + " col " + std::to_string(col);
  }

  void run() {
    const Span rows = everywhere ? Span{0, shape.rows} : comm.my_rows(shape.rows);
    const Index results = rows.count * shape.cols;
    const auto mine = numbers(static_cast<unsigned>(comm.rank()) + 1, count);
    const auto want = unfused_sum(mine);
    constexpr Index guard = 4;
    auto in = comm.allocate<T>(count);
    auto sum = comm.allocate<T>(count + guard);
    auto normalised = comm.allocate<T>(count + guard);
    std::vector<T> plain_in = mine;
    std::vector<T> plain_sum(static_cast<std::size_t>(results + guard));
    std::vector<T> plain_normalised(static_cast<std::size_t>(results + guard));
    std::copy(mine.begin(), mine.end(), in.data());
    T* to_sum = staged ? plain_sum.data() : sum.data();
    T* to_normalised = staged ? plain_normalised.data() : normalised.data();
    const T mark = narrow_one<T>(-77);
    std::fill_n(to_sum + results, guard, mark);
    std::fill_n(to_normalised + results, guard, mark);
    norm.gamma = gamma.data();
    const auto kind = everywhere ? Collective::allreduce_rms_norm : Collective::reduce_scatter_rms_norm;
    comm.fused({kind, staged ? plain_in.data() : in.data(), residual ? added.data() : nullptr, to_sum, to_normalised,
                shape.rows, shape.cols, dtype_of<T>, norm},
               Plan{.variant = std::string(name_of(kind)), .blocks = blocks});
    for (Index row = 0; row < rows.count; ++row)
      expect_row(to_sum + row * shape.cols, to_normalised + row * shape.cols,
                 want.data() + (rows.first + row) * shape.cols, rows.first + row);
    for (Index i = results; i < results + guard; ++i) {
      ASSERT_EQ(place(to_sum[i]), place(mark)) << where(-1, i);
      ASSERT_EQ(place(to_normalised[i]), place(mark)) << where(-1, i);
    }
  }
};

template <class T>
class Fused : public testing::Test {};
using Types = testing::Types<float, f16, bf16>;
TYPED_TEST_SUITE(Fused, Types);

TYPED_TEST(Fused, MatchesTheStepsOneByOne) {
  for (int ranks = 1; ranks <= 5; ++ranks)
    run_local_team(ranks, {.table = "none", .scratch_bytes = 32 * 1024}, [](Communicator& comm) {
      for (const Shape shape : {Shape{0, 5}, {5, 0}, {1, 1}, {2, 33}, {3, 31}, {7, 64}, {64, 129}, {37, 1000}})
        for (const bool staged : {false, true})
          for (const bool everywhere : {false, true})
            for (const int blocks : {1, 2}) {
              const bool residual = everywhere && blocks == 2;
              Case<TypeParam>{comm, shape, blocks, staged, everywhere, residual, {nullptr, 1e-5, staged ? 1.0 : 0.0}}
                  .run();
            }
    });
}

TEST(Fused, AcceptsOneBufferForInputResidualAndSum) {
  run_local_team(2, {.table = "none"}, [](Communicator& comm) {
    constexpr Index rows = 3, cols = 5;
    auto in = comm.allocate<float>(rows * cols);
    auto out = comm.allocate<float>(rows * cols);
    std::vector<float> gamma(cols, 1), residual(rows * cols, 0.5F);
    std::fill_n(in.data(), rows * cols, static_cast<float>(comm.rank() + 1));
    comm.allreduce_rms_norm(in.data(), residual.data(), in.data(), out.data(), rows, cols, {gamma.data(), 0, 0});
    for (Index i = 0; i < rows * cols; ++i) {
      EXPECT_EQ(in[i], 3.5F);
      EXPECT_EQ(out[i], 1.0F);
    }
  });
}

TEST(Fused, RefusesMisuse) {
  run_local_team(2, {.table = "none", .scratch_bytes = 4096}, [](Communicator& comm) {
    constexpr Index longest = 1 << 18;  // a row of 1 MiB: longer than any least scratch
    std::vector<float> in(longest), sum(longest), out(longest), gamma(longest);
    const auto status = [&](const NormCall& call, const Plan& plan) {
      try {
        comm.fused(call, plan);
      } catch (const Error& error) {
        return error.status();
      }
      return Status::success;
    };
    const Plan plan{.variant = "reduce_scatter_rms_norm"};
    const NormCall good{Collective::reduce_scatter_rms_norm,
                        in.data(),
                        nullptr,
                        sum.data(),
                        out.data(),
                        4,
                        8,
                        DType::f32,
                        {gamma.data()}};
    NormCall bad = good;
    bad.dtype = DType::f64;
    EXPECT_EQ(status(bad, plan), Status::unsupported);
    bad = good, bad.normalised = sum.data();
    EXPECT_EQ(status(bad, plan), Status::usage);
    bad = good, bad.sum = in.data();
    EXPECT_EQ(status(bad, plan), Status::usage);
    bad = good, bad.norm.gamma = nullptr;
    EXPECT_EQ(status(bad, plan), Status::usage);
    bad = good, bad.residual = gamma.data();
    EXPECT_EQ(status(bad, plan), Status::usage);
    bad = good, bad.cols = longest, bad.rows = 1;
    EXPECT_EQ(status(bad, plan), Status::unsupported) << "rows of 1 MiB from 2 ranks do not fit";
    EXPECT_EQ(status(good, Plan{.variant = "mesh"}), Status::usage);
    EXPECT_EQ(status(good, plan), Status::success);
  });
}

}  // namespace
}  // namespace attune
