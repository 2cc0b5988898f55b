/// The fused kernels against their baseline on real processes: the vendor's reduction and a norm of its own. Values are
/// small integers, so that every order of summation is exact and both must give the same bits; the time of both is
/// printed, and the fused one must not lose at a model's size.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "attune/attune.hpp"

namespace attune {
namespace {

template <class T>
void fill(T* in, Index count, int rank, int call) {
  for (Index i = 0; i < count; ++i) in[i] = narrow_one<T>(static_cast<float>((i * 7 + rank * 3 + call) % 8 - 3));
}

template <class T>
void expect_same_bits(const T* a, const T* b, Index count, const std::string& what) {
  for (Index i = 0; i < count; ++i) {
    const bool same = std::memcmp(a + i, b + i, sizeof(T)) == 0;
    ASSERT_TRUE(same) << what << " differs at " << i;
  }
}

template <class T>
void compare(Communicator& comm, Collective kind, Index rows, Index cols) {
  const Index count = rows * cols;
  const bool everywhere = kind == Collective::allreduce_rms_norm;
  const Index results = everywhere ? count : comm.my_rows(rows).count * cols;
  auto in = comm.allocate<T>(count), sum = comm.allocate<T>(count), out = comm.allocate<T>(count);
  std::vector<T> vendor_sum(static_cast<std::size_t>(count)), vendor_out(vendor_sum), residual(vendor_sum);
  std::vector<T> gamma(static_cast<std::size_t>(cols), narrow_one<T>(1.5F));
  fill(in.data(), count, comm.rank(), 1);
  fill(residual.data(), count, 0, 5);  // the same on all ranks
  NormCall call{kind,       in.data(),   everywhere ? residual.data() : nullptr,
                sum.data(), out.data(),  rows,
                cols,       dtype_of<T>, {gamma.data(), 1e-6, 0}};
  comm.fused(call, Plan{.variant = std::string(name_of(kind))});
  call.sum = vendor_sum.data();
  call.normalised = vendor_out.data();
  comm.fused(call, Plan{.variant = "vendor"});
  const std::string what = std::string(name_of(kind)) + " " + std::string(name_of(dtype_of<T>));
  expect_same_bits(sum.data(), vendor_sum.data(), results, what + " sum");
  expect_same_bits(out.data(), vendor_out.data(), results, what + " normalised");
  if (!everywhere) return;
  call.residual = call.sum = residual.data();  // the stream is updated where it lies
  comm.fused(call, Plan{.variant = "vendor"});
  expect_same_bits(residual.data(), vendor_sum.data(), results, what + " sum over its residual");
}

TEST(FusedAndVendor, GiveTheSameBits) {
  Communicator comm(MPI_COMM_WORLD, {.table = "none"});
  for (const Collective kind : {Collective::reduce_scatter_rms_norm, Collective::allreduce_rms_norm})
    for (const Index rows : {1, 2, 5, 64})
      for (const Index cols : {1, 31, 128}) {
        compare<float>(comm, kind, rows, cols);
        compare<bf16>(comm, kind, rows, cols);
        compare<f16>(comm, kind, rows, cols);
      }
}

double median_us(Communicator& comm, const NormCall& call, const Plan& plan) {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    comm.fused(call, plan);
    double mine = (MPI_Wtime() - start) * 1e6, last = 0;
    MPI_Allreduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    times.push_back(last);
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return times[4];
}

TEST(FusedAndVendor, FusedWinsAtAModelsSize) {
  Communicator comm(MPI_COMM_WORLD, {.table = "none"});
  if (comm.size() != 2) GTEST_SKIP() << "timed with two ranks";
  constexpr Index rows = 512, cols = 7168;
  auto in = comm.allocate<bf16>(rows * cols), sum = comm.allocate<bf16>(rows * cols),
       out = comm.allocate<bf16>(rows * cols);
  const std::vector<bf16> gamma(cols, bf16{0x3F80});
  fill(in.data(), rows * cols, comm.rank(), 0);
  for (const Collective kind : {Collective::reduce_scatter_rms_norm, Collective::allreduce_rms_norm}) {
    const NormCall call{kind, in.data(), nullptr, sum.data(), out.data(), rows, cols, DType::bf16, {gamma.data()}};
    const double fused = median_us(comm, call, Plan{.variant = std::string(name_of(kind))});
    const double vendor = median_us(comm, call, Plan{.variant = "vendor"});
    if (comm.rank() == 0)
      std::printf("%s bf16 512x7168: fused %.0f us, vendor %.0f us, ratio %.2f\n", name_of(kind).data(), fused, vendor,
                  vendor / fused);
    EXPECT_LT(fused, vendor);
  }
}

}  // namespace
}  // namespace attune
