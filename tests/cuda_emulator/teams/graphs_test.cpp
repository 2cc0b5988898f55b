/// Captured launches are replayed with other inputs: nothing of a launch that changes from call to call is an argument.
#include <gtest/gtest.h>

#include "calls.h"
#include "random.h"

namespace attune::emulated {
namespace {

constexpr Bytes capacity = 8192;

/// One rank's captured call: input from pinned memory, launch, output to pinned memory.
struct Captured {
  explicit Captured(std::size_t bytes) : in(bytes), out(bytes) {}
  ~Captured() {
    if (exec != nullptr) cudaGraphExecDestroy(exec);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  PinnedBytes in, out;
  cudaGraphExec_t exec = nullptr;
};

void capture(const Team& team, int rank, const Call& call, Captured& captured) {
  TeamRank& mine = team[rank];
  const auto bytes = static_cast<std::size_t>(call.bytes());
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(mine.stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  check(cudaMemcpyAsync(mine.in.data(), captured.in.data(), bytes, cudaMemcpyDefault, mine.stream), "cudaMemcpyAsync");
  Team::run(kernel_of(call), launch_of(team, rank, call, nullptr), mine.stream);
  check(cudaMemcpyAsync(captured.out.data(), mine.out.data(), bytes, cudaMemcpyDefault, mine.stream),
        "cudaMemcpyAsync");
  check(cudaStreamEndCapture(mine.stream, &graph), "cudaStreamEndCapture");
  check(cudaGraphInstantiate(&captured.exec, graph, 0), "cudaGraphInstantiate");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

/// Replays all ranks with inputs of this seed and compares.
std::string replay(const Team& team, Call call, std::uint64_t seed, std::vector<std::unique_ptr<Captured>>& captured) {
  call.content.seed = seed;
  const auto bytes = static_cast<std::size_t>(call.bytes());
  for (int rank = 0; rank < team.size(); ++rank) {
    auto& mine = *captured[static_cast<std::size_t>(rank)];
    conformance::fill(call.content, rank, call.count, mine.in.data());
    check(cudaGraphLaunch(mine.exec, team[rank].stream), "cudaGraphLaunch");
  }
  team.synchronize();
  std::vector<std::byte> want(bytes);
  conformance::rank_order_result(call.content, {}, call.count, want.data());
  for (const auto& mine : captured)
    if (auto error = conformance::compare_bits(call.content.dtype, mine->out.data(), want.data(), call.count);
        !error.empty())
      return error + "\n  " + describe(call);
  return {};
}

// Other projects baked flags and call numbers into the graph: right once, stale or stuck when replayed, most of all
// when eager calls come between.
TEST(Graphs, AreReplayedBetweenEagerCalls) {
  const auto seed = conformance::test_seed();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  conformance::Random random(seed);
  constexpr int ranks = 3;
  const Team team(ranks, capacity);
  for (std::size_t v = 0; v < variant_table.size(); ++v) {
    const auto& traits = variant_table[v].traits;
    if (variant_table[v].composite || traits.needs == Needs::multimem || traits.needs == Needs::domains) continue;
    Call call;
    call.variant = v;
    call.content = {random.next(), DType::bf16, Op::sum, conformance::Data::exact, ranks};
    call.count = 1 + random.below((traits.max_bytes > 0 ? std::min(traits.max_bytes, capacity) : capacity) / 2 - 1);
    call.chunk = 512;
    call.blocks = std::min(2, traits.max_blocks);
    call.by_record = random.one_in(2);
    std::vector<std::unique_ptr<Captured>> captured;
    for (int rank = 0; rank < ranks; ++rank) {
      captured.push_back(std::make_unique<Captured>(static_cast<std::size_t>(call.bytes())));
      capture(team, rank, call, *captured.back());
    }
    for (int k = 0; k < 4; ++k) {
      ASSERT_EQ(replay(team, call, random.next(), captured), "") << "seed " << seed;
      if (k % 2 == 0) continue;
      const auto eager = enqueue(team, call);
      team.synchronize();
      ASSERT_EQ(faults_of(team, eager), "") << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace attune::emulated
