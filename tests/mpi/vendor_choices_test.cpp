/// Open MPI's own algorithms as candidates, in one process: each name gives the exact sum, and a name that is forced is
/// really in force. The proof of the latter needs an algorithm that can be told apart: with more ranks than elements
/// the ring falls back, but rabenseifner and the others round f32 sums in their own orders, so on data that tells
/// orders apart some pair of algorithms must differ on 4 ranks or more.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <set>
#include <vector>

#include "attune/attune.hpp"
#include "runtime/composites/vendor_choices.h"

namespace attune {
namespace {

std::vector<float> reduce(Communicator& comm, const std::string& variant, Index count, bool exact) {
  std::vector<float> in(static_cast<std::size_t>(count));
  std::vector<float> out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = exact ? static_cast<float>(comm.rank() + 1 + static_cast<int>(i % 13))
                  : (comm.rank() % 2 == 0 ? 1.0e7F : 0.3F) + 0.1F * static_cast<float>(i % 7);
  comm.allreduce(in.data(), out.data(), count, DType::f32, Op::sum, Plan{.variant = variant});
  return out;
}

TEST(VendorChoices, EveryAlgorithmSumsExactly) {
  Communicator comm(MPI_COMM_WORLD, {.table = "none"});
  if (const auto reason = host::why_no_vendor_choices(); !reason.empty()) GTEST_SKIP() << reason;
  for (const auto& algorithm : host::open_mpi_algorithms()) {
    const std::string name = "vendor:openmpi/" + std::string(algorithm.name) + (algorithm.segmented ? "/4096" : "");
    const auto out = reduce(comm, name, 10007, true);
    for (std::size_t i = 0; i < out.size(); ++i) {
      float want = 0;
      for (int r = 0; r < comm.size(); ++r) want += static_cast<float>(r + 1 + static_cast<int>(i % 13));
      ASSERT_EQ(out[i], want) << name << " index " << i;
    }
  }
}

TEST(VendorChoices, ForcedAlgorithmsAreInForce) {
  Communicator comm(MPI_COMM_WORLD, {.table = "none"});
  if (const auto reason = host::why_no_vendor_choices(); !reason.empty()) GTEST_SKIP() << reason;
  if (comm.size() < 4) GTEST_SKIP() << "orders of summation differ from four ranks on";
  std::set<std::vector<float>> outcomes;
  for (const char* name : {"vendor:openmpi/recursive_doubling", "vendor:openmpi/ring", "vendor:openmpi/basic_linear"})
    outcomes.insert(reduce(comm, name, 1000, false));
  EXPECT_GT(outcomes.size(), 1U);
}

TEST(VendorChoices, UnknownNamesListTheKnown) {
  for (const char* name :
       {"vendor:openmpi/rings", "vendor:nccl/ring", "vendor:openmpi/ring/4096", "vendor:openmpi/segmented_ring/4k"}) {
    try {
      (void)host::parse_vendor_choice(name);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::usage);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
    }
  }
  EXPECT_EQ(host::parse_vendor_choice("vendor:openmpi/segmented_ring/65536").segment, 65536);
}

}  // namespace
}  // namespace attune
