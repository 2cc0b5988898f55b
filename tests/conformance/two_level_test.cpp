/// Two levels give the bits of two_shot_write on every grouping of ranks: one domain, two of 1 to 4 ranks, more of 1
/// and 2; for every dtype and op, in place and out of place, registered and staged, in one piece and in several (the
/// accumulators of an 8-bit float take four times the message). Between processes, mpi_property draws them.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "content.h"
#include "core/error.h"
#include "domains.h"
#include "random.h"
#include "runtime/host_team.h"
#include "variants/registry.h"

namespace attune::conformance {
namespace {

std::size_t index_of(std::string_view name) { return static_cast<std::size_t>(&variant(name) - variant_table.data()); }

struct Grouping {
  int ranks;
  int near;
};

/// One rank: memory that peers can address, and memory that they cannot.
class Rank {
 public:
  Rank(std::unique_ptr<Bootstrap> bootstrap, const Grouping& grouping)
      : team_(std::move(bootstrap), {.timeout_s = 60,
                                     .scratch_bytes = 4096,
                                     .node_cores = 1,
                                     .near = grouping.near,
                                     .first_epoch = 0xFFFFFF00U}),
        registered_(team_.allocate(2 * capacity)),
        own_(static_cast<std::size_t>(2 * capacity)) {}

  /// Both variants on one call; throws when a bit differs.
  void compare(const Content& content, Index count, int call) {
    std::byte* base = call % 3 == 2 ? own_.data() : registered_;
    const auto bytes = static_cast<std::size_t>(count * size_of(content.dtype));
    std::vector<std::byte> want(bytes);
    rank_order_result(content, {}, count, want.data());
    const auto run = [&](const char* name) {
      std::byte* out = call % 2 == 0 ? base : base + capacity;
      std::memset(base + capacity, 0x77, bytes);
      fill(content, team_.rank(), count, base);
      const Plan plan{name, 1 + call % 5 / 3, 1, call % 4 * Bytes{64}};
      team_.allreduce(index_of(name), plan, {base, out, count, content.dtype, content.op, {}});
      return std::vector<std::byte>(out, out + bytes);
    };
    const auto one = run("two_shot_write"), two = run("two_level");
    auto error = compare_bits(content.dtype, two.data(), one.data(), count);
    if (error.empty() && content.data == Data::exact)
      error = compare_bits(content.dtype, two.data(), want.data(), count);
    if (!error.empty())
      throw Error(Status::wrong, error + " " + std::string(name_of(content.dtype)) + " " +
                                     std::string(name_of(content.op)) + " count " + std::to_string(count) + " call " +
                                     std::to_string(call));
  }
  static constexpr Bytes capacity = 131072;  ///< Scratch is at least 98304 bytes: more is several pieces.

 private:
  host::HostTeam team_;
  std::byte* registered_;
  std::vector<std::byte> own_;
};

void compare_all(Rank& rank, const Grouping& grouping, std::uint64_t seed) {
  int call = 0;
  for (const DType dtype : all_of<DType>())
    for (const Op op : all_of<Op>())
      for (const Index count : {Index{1}, Index{333}, Rank::capacity / size_of(dtype) - 5}) {
        if (count > 333 && op != all_of<Op>()[static_cast<std::size_t>(dtype) % 5]) continue;
        const bool sums = op == Op::sum || op == Op::avg;
        const Content content{mix(seed, static_cast<std::uint64_t>(call)), dtype, op,
                              sums && call % 2 == 1 ? Data::random : Data::exact, grouping.ranks};
        rank.compare(content, count, call++);
      }
}

class Groupings : public testing::TestWithParam<Grouping> {};

TEST_P(Groupings, GiveTheBitsOfOneLevel) {
  const auto seed = test_seed();
  RecordProperty("seed", std::to_string(seed));
  auto bootstraps = make_local_bootstraps(GetParam().ranks);
  std::vector<std::thread> threads;
  std::vector<std::string> errors(bootstraps.size());
  for (std::size_t r = 0; r < bootstraps.size(); ++r)
    threads.emplace_back([&, r] {
      try {
        Rank rank(std::move(bootstraps[r]), GetParam());
        compare_all(rank, GetParam(), seed);
      } catch (const std::exception& error) {
        errors[r] = error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) EXPECT_EQ(error, "") << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(All, Groupings,
                         testing::Values(Grouping{5, 5}, Grouping{2, 1}, Grouping{4, 2}, Grouping{6, 3}, Grouping{8, 4},
                                         Grouping{3, 1}, Grouping{6, 2}, Grouping{8, 2}, Grouping{4, 1}),
                         [](const auto& info) {
                           return std::to_string(info.param.ranks) + "RanksBy" + std::to_string(info.param.near);
                         });

TEST(Groupings, ThatLeaveARankOverAreRefused) {
  auto bootstraps = make_local_bootstraps(1);
  try {
    const host::HostTeam team(std::move(bootstraps[0]), {.near = 2});
    ADD_FAILURE() << "made";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::usage);
  }
}

}  // namespace
}  // namespace attune::conformance
