/// More than 2^31 bytes, and more than 2^31 elements of one byte: no index, size or offset is 32 bits wide. Needs about
/// 5 GiB; ctest -L large.
#include <gtest/gtest.h>

#include "cases.h"

namespace attune::conformance {
namespace {

constexpr Index count = (Index{1} << 31) + 4099;

std::uint8_t input(int rank, Index i) { return static_cast<std::uint8_t>((i ^ (i >> 13)) % 61 + rank); }

class Large : public testing::TestWithParam<std::string_view> {};

TEST_P(Large, MoreElementsThan31BitsCount) {
  with_local_crew(2, [&](Crew& crew) {
    Options options;
    options.table = "none";
    options.timeout_s = 300;
    auto comm = crew.communicator(options);
    auto data = comm.allocate<std::uint8_t>(count);
    for (Index i = 0; i < count; ++i) data[i] = input(crew.rank(), i);
    comm.allreduce(data.data(), data.data(), count, DType::u8, Op::sum, Plan{std::string(GetParam()), 1, 1, 0});
    for (Index i = 0; i < count; ++i)
      if (data[i] != static_cast<std::uint8_t>(input(0, i) + input(1, i)))
        throw Error(Status::wrong, std::string(GetParam()) + " is wrong at " + std::to_string(i));
  });
}

INSTANTIATE_TEST_SUITE_P(All, Large, testing::ValuesIn(variants_to_test(false)),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace attune::conformance
