/// Every variant on the SIMT device: blocks of 1 to 64 real threads with a block barrier, packs of 16 bytes, flags
/// raised and polled by thread p for peer p. Calls follow each other without a pause; variant, count, chunk, blocks and
/// threads change between them, inputs are rewritten at once. Under ThreadSanitizer this finds what a GPU would race
/// on.
#include <gtest/gtest.h>

#include "content.h"
#include "device/epilogue.h"
#include "random.h"
#include "simt_team.h"
#include "variants/registry.h"

namespace attune::conformance {
namespace {

using ThreadKernel = void (*)(const simt::Launch&, int block, int thread, const EpilogueSpec&);

template <class V, class T, class O>
void thread_kernel(const simt::Launch& launch, int index, int thread, const EpilogueSpec& spec) {
  simt::Block<T> block(launch, index, thread);
  const simt::Buffers<T> buffers{launch.count, launch.chunk, launch};
  const AnyEpilogue<T> epilogue{spec.kind, 1, spec.scale, static_cast<const T*>(spec.operand), spec.cols};
  V::template run<0, T>(block, Team<0>(launch.rank, launch.ranks, launch.near), buffers, O{}, epilogue);
  block.finish();
}

struct Kernel {
  std::string_view variant;
  Traits traits;
  DType dtype;
  Op op;
  ThreadKernel run;
};

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> all;
  for_each_variant([&]<class V>() {
    all.push_back({variant_name<V>, V::traits, DType::f32, Op::sum, &thread_kernel<V, float, Sum>});
    all.push_back({variant_name<V>, V::traits, DType::bf16, Op::sum, &thread_kernel<V, bf16, Sum>});
    all.push_back({variant_name<V>, V::traits, DType::i8, Op::max, &thread_kernel<V, std::int8_t, Max>});
  });
  return all;
}

struct Call {
  Kernel kernel;
  Content content;
  int near;
  int blocks;
  int threads;
  Index count;
  Index chunk;
  bool in_place;
  EpilogueKind epilogue;
};

constexpr Bytes capacity = 40000;

Call draw_call(Random& random, const std::vector<Kernel>& kernels, int ranks, int most_blocks, int most_threads) {
  const Kernel& kernel = kernels[random.next() % kernels.size()];
  Call call{kernel, {random.next(), kernel.dtype, kernel.op, Data::exact, ranks}, ranks, 1, 1, 0, 0, false, {}};
  do call.near = 1 + static_cast<int>(random.below(ranks));
  while (ranks % call.near != 0);
  call.blocks = 1 + static_cast<int>(random.below(most_blocks));
  call.threads = random.one_in(3) ? 1 + static_cast<int>(random.below(most_threads)) : most_threads;
  const Index lanes = simt::pack_bytes / size_of(kernel.dtype);
  call.count = random.one_in(2) ? random.below(20 * lanes) : random.below(capacity / size_of(kernel.dtype));
  call.chunk = random.one_in(2) ? capacity : lanes * (1 + random.below(3) + call.count / lanes / 16);
  call.in_place = kernel.traits.in_place == InPlace::safe && random.one_in(3);
  call.epilogue = random.one_in(3) ? EpilogueKind::bias : EpilogueKind::none;
  return call;
}

std::string describe(const Call& call) {
  return std::string(call.kernel.variant) + " " + std::string(name_of(call.kernel.dtype)) +
         " ranks=" + std::to_string(call.content.ranks) + " near=" + std::to_string(call.near) +
         " blocks=" + std::to_string(call.blocks) + " threads=" + std::to_string(call.threads) +
         " count=" + std::to_string(call.count) + " chunk=" + std::to_string(call.chunk) +
         (call.in_place ? " in place" : "") + " epilogue=" + std::string(name_of(call.epilogue));
}

/// One rank's side of a call, by its first thread: before the launch, and after it.
void prepare(SimtTeam& team, int rank, const Call& call, Epoch number) {
  auto& mine = team[rank];
  fill(call.content, rank, call.count, mine.in.data());
  std::memset(mine.out.data(), 0xCD, static_cast<std::size_t>(mine.out.bytes()));
  mine.launch = team.launch_of(rank);
  if (call.in_place) mine.launch.out = mine.launch.in;
  mine.launch.near = call.near;
  mine.launch.blocks = call.blocks;
  mine.launch.threads = call.threads;
  mine.launch.count = call.count;
  mine.launch.chunk = call.chunk;
  mine.launch.mail_call = number;
}
void check(SimtTeam& team, int rank, const Call& call, const EpilogueSpec& epilogue) {
  auto& mine = team[rank];
  const Bytes bytes = call.count * size_of(call.kernel.dtype);
  std::vector<std::byte> want(static_cast<std::size_t>(bytes));
  rank_order_result(call.content, epilogue, call.count, want.data());
  const std::byte* out = call.in_place ? mine.in.data() : mine.out.data();
  auto error = compare_bits(call.kernel.dtype, out, want.data(), call.count);
  for (int k = 0; k < 16 && !call.in_place; ++k)
    if (mine.out.data()[bytes + k] != std::byte{0xCD}) error = "written behind the output";
  std::memset(mine.in.data(), 0x5E, static_cast<std::size_t>(bytes));
  if (!error.empty()) throw Error(Status::wrong, error + "\n  " + describe(call));
}

/// Runs the calls back to back on real threads.
std::string run_calls(SimtTeam& team, const std::vector<Call>& calls, int blocks, int threads, Epoch first_mail) {
  constexpr Index cols = 7;
  return team.run(blocks, threads, [&](int rank, int block, int thread) {
    auto& mine = team[rank];
    Epoch number = first_mail;
    for (const Call& call : calls) {
      std::vector<std::byte> operand(static_cast<std::size_t>(cols * size_of(call.kernel.dtype)));
      fill_operand(call.content, cols, operand.data());
      const EpilogueSpec epilogue{call.epilogue, 1, operand.data(), cols};
      ++number;
      if (number == 0) number = 2;  // never 0, and generations must alternate all the same
      const bool first = block == 0 && thread == 0;
      if (first) prepare(team, rank, call, number);
      mine.grid.sync(blocks * threads);
      if (block < call.blocks && thread < call.threads) call.kernel.run(mine.launch, block, thread, epilogue);
      mine.grid.sync(blocks * threads);
      if (first) check(team, rank, call, epilogue);
    }
  });
}

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, OfABlockGiveTheExactResult) {
  const int threads = GetParam();
  const auto seed = test_seed();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const auto kernels = all_kernels();
  Random random(mix(seed, static_cast<std::uint64_t>(threads)));
  const int most = effort(192) < 192 ? 64 : 160;
  for (int team_number = 0; team_number < 4; ++team_number) {
    const int ranks = std::min(2 + static_cast<int>(random.below(7)), std::max(2, most / threads));
    const int blocks = std::clamp(most / threads / ranks, 1, 3);
    const Epoch near_wrap = random.one_in(2) ? Epoch{0} : Epoch{0} - static_cast<Epoch>(random.below(40));
    SimtTeam team(ranks, capacity, near_wrap);
    std::vector<Call> calls;
    for (int k = 0; k < effort(36); ++k) calls.push_back(draw_call(random, kernels, ranks, blocks, threads));
    ASSERT_EQ(run_calls(team, calls, blocks, threads, near_wrap), "") << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(PerBlock, Threads, testing::Values(1, 2, 3, 7, 32, 33, 64),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace attune::conformance
