/// What is special about push: it starts no barrier, so flags must tell generations, calls and payloads apart.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include "attune/attune.hpp"
#include "device/signal.h"

namespace attune {
namespace {

const Plan push{.variant = "push"};

TEST(Push, KeepsRanksApartOverManyCallsAndTheWrapOfTheEpoch) {
  for (const std::uint32_t first : {0U, 0xFFFFFF00U})
    run_local_team(3, {.table = "none", .first_epoch = first}, [](Communicator& comm) {
      for (int call = 0; call < 600; ++call) {
        const Index count = call % 7 == 0 ? 700 : call % 5;  // in the line, behind it, and nothing at all
        std::vector<float> in(700), out(700, -1);
        for (Index i = 0; i < count; ++i)
          in[static_cast<std::size_t>(i)] = static_cast<float>(call * 3 + comm.rank()) + static_cast<float>(i);
        if (call % 97 == comm.rank()) std::this_thread::sleep_for(std::chrono::microseconds(300));
        Plan plan{.variant = call % 11 == 10 ? "mesh" : "push", .blocks = 1 + call % 3};
        comm.allreduce(in.data(), out.data(), count, Op::sum, {});
        comm.allreduce(in.data(), out.data(), count, DType::f32, Op::sum, plan);
        for (Index i = 0; i < count; ++i)
          ASSERT_EQ(out[static_cast<std::size_t>(i)], static_cast<float>(call * 9 + 3 + 3 * i)) << call << " " << i;
        for (std::size_t i = static_cast<std::size_t>(count); i < out.size(); ++i) ASSERT_EQ(out[i], -1);
        std::fill(in.begin(), in.end(), -1e30F);  // the caller may overwrite its input at once
      }
    });
}

TEST(Push, CarriesEveryPayload) {
  run_local_team(2, {.table = "none"}, [](Communicator& comm) {
    for (const float value : {-0.0F, std::nanf(""), -INFINITY, 1e-45F, -1e-45F, 0.0F})
      for (const Index count : {1, 12, 13, 500}) {
        std::vector<float> in(static_cast<std::size_t>(count), value), out(in.size());
        comm.allreduce(in.data(), out.data(), count, DType::f32, Op::max, push);
        for (const float x : out) {
          ASSERT_EQ(std::isnan(x), std::isnan(value));
          const bool same = std::memcmp(&x, &value, sizeof x) == 0;
          ASSERT_TRUE(same || std::isnan(value)) << value;
        }
      }
  });
}

TEST(Push, SplitsWhatIsLongerThanAMailbox) {
  run_local_team(2, {.table = "none"}, [](Communicator& comm) {
    const auto count = static_cast<Index>(mail_capacity) * 2 + 12345;
    std::vector<std::uint8_t> in(static_cast<std::size_t>(count)), out(in.size());
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<std::uint8_t>(i % 97 + static_cast<std::size_t>(comm.rank()));
    comm.allreduce(in.data(), out.data(), count, DType::u8, Op::sum, push);
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], static_cast<std::uint8_t>(i % 97 * 2 + 1));
  });
}

/// Ranks in different calls find out, whatever the two calls are; nobody hangs or gets a wrong sum.
TEST(Push, NoticesRanksInDifferentCalls) {
  const auto disagree = [](const Plan& first, Index first_count, const Plan& second, Index second_count) {
    std::vector<Status> status(2, Status::success);
    run_local_team(2, {.table = "none", .timeout_s = 20}, [&](Communicator& comm) {
      std::vector<float> in(64, 1), out(64);
      const bool one = comm.rank() == 0;
      try {
        comm.allreduce(in.data(), out.data(), one ? first_count : second_count, DType::f32, Op::sum,
                       one ? first : second);
      } catch (const Error& error) {
        status[static_cast<std::size_t>(comm.rank())] = error.status();
      }
    });
    EXPECT_TRUE(status[0] == Status::usage || status[1] == Status::usage);
    for (const Status s : status) EXPECT_TRUE(s == Status::usage || s == Status::internal) << static_cast<int>(s);
  };
  disagree(push, 3, push, 4);
  disagree(push, 3, push, 40);
  disagree(push, 8, Plan{.variant = "mesh"}, 8);
  disagree(Plan{.variant = "ring"}, 8, Plan{.variant = "two_shot"}, 8);
}

}  // namespace
}  // namespace attune
