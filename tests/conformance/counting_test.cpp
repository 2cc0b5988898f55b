/// The cost card of every variant is what it moves: bytes to and from peers and own memory, flags, barriers and
/// dependent rounds, counted by the counting device, to the byte for uneven shards, every rank count and counts from 0
/// on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "device/counting.h"
#include "device/epilogue.h"
#include "simt_team.h"
#include "variants/registry.h"

namespace attune::conformance {
namespace {

/// The depths of all buffers, all at no remote step.
counting::TeamDepths depths_of(SimtTeam& team) {
  counting::TeamDepths depths;
  const auto cover = [](counting::Depths& of, const std::byte* base, Bytes bytes) {
    of = {base, std::vector<int>(static_cast<std::size_t>(bytes / simt::pack_bytes + 2))};
  };
  for (int r = 0; r < team.size(); ++r) {
    const auto k = static_cast<std::size_t>(r);
    cover(depths[0][k], team[r].in.data(), team[r].in.bytes());
    cover(depths[1][k], team[r].out.data(), team[r].out.bytes());
    cover(depths[2][k], team[r].scratch.data(), team[r].scratch.bytes());
    cover(depths[3][k], team[r].inbox.data(), team[r].inbox.bytes());
    for (std::size_t sender = 0; sender < static_cast<std::size_t>(team.size()); ++sender) {
      auto& body = team[r].memory.mail[1][sender].body;
      cover(depths[4][k * max_ranks + sender], body.data(), static_cast<Bytes>(body.size()));
    }
  }
  return depths;
}

Cost sum(const std::vector<counting::Tally>& tallies, int ranks) {
  Cost total;
  for (const auto& [cost, depth, across] : tallies) {
    total.peer_reads += cost.peer_reads;
    total.peer_writes += cost.peer_writes;
    total.local_reads += cost.local_reads;
    total.local_writes += cost.local_writes;
    total.notifies += cost.notifies;
    total.barriers += cost.barriers;
    total.rounds = std::max(total.rounds, cost.rounds);
  }
  total.barriers /= ranks;
  return total;
}

/// What the blocks of a team in domains of `near` ranks do in one call.
template <class V, class T>
std::vector<counting::Tally> tallies_of(int ranks, int near, int blocks, Index count) {
  SimtTeam team(ranks, count * static_cast<Bytes>(sizeof(T)) + 1024, 0);
  auto depths = depths_of(team);
  std::vector<counting::Tally> tallies(static_cast<std::size_t>(ranks * blocks));
  const auto error = team.run(blocks, 1, [&](int rank, int index, int) {
    auto launch = team.launch_of(rank);
    launch.blocks = blocks;
    launch.count = count;
    launch.chunk = count + 1024;  // each shard is one chunk, as cards say
    launch.mail_call = 1;
    auto& tally = tallies[static_cast<std::size_t>(rank * blocks + index)];
    counting::Block<T> block(launch, index, tally, depths);
    const counting::Buffers<T> buffers{count, launch.chunk, {count, launch.chunk, launch}, rank, near, tally, depths};
    V::template run<0, T>(block, Team<0>(rank, ranks, near), buffers, Sum{}, NoEpilogue{});
    block.finish();
  });
  EXPECT_EQ(error, "") << variant_name<V>;
  return tallies;
}

/// What a team does in one call: in two domains where its ranks are even, as the cards of two levels say.
template <class V, class T>
Cost count_call(int ranks, int blocks, Index count) {
  return sum(tallies_of<V, T>(ranks, ranks % 2 == 0 ? ranks / 2 : ranks, blocks, count), ranks);
}

template <class V, class T>
void expect_card(int ranks, int blocks, Index count) {
  const Bytes bytes = count * static_cast<Bytes>(sizeof(T));
  const Cost counted = count_call<V, T>(ranks, blocks, count);
  const Cost card = V::cost(ranks, bytes);
  SCOPED_TRACE(std::string(variant_name<V>) + " ranks=" + std::to_string(ranks) + " blocks=" + std::to_string(blocks) +
               " count=" + std::to_string(count) + " of " + std::to_string(sizeof(T)) + " bytes");
  EXPECT_EQ(counted.peer_reads, card.peer_reads) << "peer_reads";
  EXPECT_EQ(counted.peer_writes, card.peer_writes) << "peer_writes";
  EXPECT_EQ(counted.local_reads, card.local_reads) << "local_reads";
  EXPECT_EQ(counted.local_writes, card.local_writes) << "local_writes";
  EXPECT_EQ(counted.notifies, card.notifies) << "notifies";
  EXPECT_EQ(counted.barriers, card.barriers) << "barriers";
  if (count < 500) return;  // below, a shard may have no pack to come by
  EXPECT_EQ(counted.rounds, card.rounds) << "rounds";
}

/// Counts one call of 8 ranks and 1 MiB, and writes them where ATTUNE_COUNTED says, for comparison with attune cost
/// --json.
TEST(CostCards, AreWhatTheProgramPrints) {
  std::string json;
  for_each_variant([&]<class V>() {
    const Cost cost = count_call<V, float>(8, 2, Index{1} << 18);
    const auto field = [](const char* name, auto value) {
      return std::string(", \"") + name + "\": " + std::to_string(value);
    };
    json += (json.empty() ? "" : ",\n  ") + std::string("{\"variant\": \"") + std::string(variant_name<V>) + "\"" +
            field("peer_read_bytes", cost.peer_reads) + field("peer_write_bytes", cost.peer_writes) +
            field("local_read_bytes", cost.local_reads) + field("local_write_bytes", cost.local_writes) +
            field("notifies", cost.notifies) + field("barriers", cost.barriers) + field("rounds", cost.rounds) + "}";
    if (cost != V::cost(8, Bytes{1} << 20)) ADD_FAILURE() << variant_name<V> << ": " << json;
  });
  const char* file = std::getenv("ATTUNE_COUNTED");
  if (file != nullptr) std::ofstream(file) << "[" << json << "]\n";
}

TEST(CostCards, AreWhatIsMoved) {
  for_each_variant([]<class V>() {
    for (int ranks = 2; ranks <= max_ranks; ++ranks) {
      for (const Index count : {0, 1, 3, 4, 5, 17, 100, 997, 1003}) expect_card<V, float>(ranks, 1, count);
      for (const Index count : {0, 1, 15, 16, 17, 63, 2003}) expect_card<V, std::int8_t>(ranks, 2, count);
    }
  });
}

/// Bytes that go from domain to domain.
template <class V>
Bytes across(int ranks, int near, Index count) {
  Bytes all = 0;
  for (const auto& tally : tallies_of<V, float>(ranks, near, 1, count)) all += tally.across;
  return all;
}

/// What two levels are for: a partial sum and a result for every further domain, however many ranks are in each; of one
/// level, as much for each of them.
TEST(TwoLevels, CrossBetweenDomainsOnceEachWay) {
  constexpr Index count = 997;
  for (int ranks = 2; ranks <= max_ranks; ++ranks)
    for (int near = 1; near <= ranks; ++near) {
      if (ranks % near != 0) continue;
      const Bytes once = 2 * (ranks / near - 1) * count * 4;
      EXPECT_EQ(across<variants::two_level>(ranks, near, count), once) << ranks << " ranks by " << near;
      EXPECT_EQ(across<variants::two_shot_write>(ranks, near, count), near * once) << ranks << " ranks by " << near;
    }
}

}  // namespace
}  // namespace attune::conformance
