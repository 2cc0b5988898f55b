/// Faults that other projects had, on processes with a GPU each. Numbers are the rows of conformance/BUGS.md.
#include <cuda.h>

#include <chrono>
#include <random>
#include <thread>

#include "world.h"

namespace attune::emulated {
namespace {

// 7: whether memory is registered is each rank's and each buffer's own affair when the plan is given.
TEST(Bugs, RegisteredHereAndNotThere) {
  Communicator comm(MPI_COMM_WORLD, on_gpus());
  constexpr Index count = 1021;
  const auto in = comm.allocate<float>(count), out = comm.allocate<float>(count);
  const PlainMemory plain_in(count), plain_out(count);
  int turn = 0;
  for (const Plan& plan : plans(comm, true))
    for (int mask = 0; mask < 4; ++mask) {
      const bool registered_in = (mask >> comm.rank() % 2 & 1) != 0;
      const bool registered_out = (mask >> (comm.rank() + 1) % 2 & 1) != 0;
      sum(comm, registered_in ? const_cast<float*>(in.data()) : plain_in.get(),
          registered_out ? const_cast<float*>(out.data()) : plain_out.get(), count, ++turn, plan);
    }
}

// 8: an IPC handle is that of the whole allocation; every rank's buffer begins elsewhere in it.
TEST(Bugs, RegisteredInTheMiddleOfAnAllocation) {
  Communicator comm(MPI_COMM_WORLD, on_gpus());
  constexpr Index count = 3000;
  const PlainMemory memory(100'000);
  float* const base = memory.get() + 1024 * (comm.rank() + 1);
  comm.register_buffer(base, bytes_of(2 * count + 64));
  int turn = 0;
  for (const Plan& plan : plans(comm, true)) {
    float* const in = base + 4 * comm.rank();
    ASSERT_TRUE(comm.registered(in, bytes_of(count)));
    sum(comm, in, in + count + 8, count, ++turn, plan);
  }
  comm.deregister_buffer(base);
}

// 11, 24, 29: sizes, variants and grids change from call to call.
TEST(Bugs, CallsOfAnyShapeInAnyOrder) {
  Communicator comm(MPI_COMM_WORLD, on_gpus());
  constexpr Index most = 20'000;
  auto in = comm.allocate<float>(most), out = comm.allocate<float>(most);
  std::mt19937 random(7);
  const auto all = plans(comm, true);
  for (int turn = 0; turn < 60; ++turn) {
    Plan plan = all[random() % all.size()];
    plan.blocks = 1 + static_cast<int>(random() % 5);
    plan.threads = 32 * (1 + static_cast<int>(random() % 4));
    const Index count = 1 + static_cast<Index>(random() % (plan.variant == "push" ? 900 : most - 1));
    sum(comm, in.data(), out.data(), count, turn, plan);
  }
}

// 13, 34: communicators that share ranks take turns; ranks in another order than devices.
TEST(Bugs, OverlappingCommunicatorsInAnyOrder) {
  const bool low = world_rank() < world_size() - 1 || world_size() == 2;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : MPI_UNDEFINED, -world_rank(), &part);
  {
    Communicator all(MPI_COMM_WORLD, on_gpus());
    std::unique_ptr<Communicator> some;
    if (low) some = std::make_unique<Communicator>(part, on_gpus());
    constexpr Index count = 900;
    auto in = all.allocate<float>(count), out = all.allocate<float>(count);
    const PlainMemory other_in(count), other_out(count);
    int turn = 0;
    for (const Plan& plan : plans(all, false))
      for (int again = 0; again < 3; ++again) {
        if (low) sum(*some, other_in.get(), other_out.get(), count, turn + 1, plan);
        sum(all, in.data(), out.data(), count, turn += 2, plan);
      }
  }
  if (low) MPI_Comm_free(&part);
}

// 14: flags that are cleared when peers may already have raised them.
TEST(Bugs, ARankThatIsLateEverywhere) {
  const auto late = std::chrono::milliseconds(world_rank() == world_size() - 1 ? 300 : 0);
  const auto other = std::chrono::milliseconds(world_rank() == 0 ? 300 : 0);
  std::this_thread::sleep_for(late);
  Communicator comm(MPI_COMM_WORLD, on_gpus());
  const PlainMemory in(100), out(100);
  for (const char* name : {"push", "mesh", "two_shot"}) {
    std::this_thread::sleep_for(other);
    sum(comm, in.get(), out.get(), 100, 1, {.variant = name, .blocks = 1, .threads = 32});
    std::this_thread::sleep_for(late);
    sum(comm, in.get(), out.get(), 100, 2, {.variant = name, .blocks = 1, .threads = 32});
  }
}

/// Device memory that CUDA IPC cannot share: of a stream-ordered pool, or mapped by hand.
class PrivateMemory {
 public:
  explicit PrivateMemory(bool pool) : pool_(pool) { pool ? from_pool() : by_hand(); }
  ~PrivateMemory() {
    if (pool_) (void)cudaFreeAsync(reinterpret_cast<void*>(at_), nullptr);
  }
  PrivateMemory(const PrivateMemory&) = delete;
  PrivateMemory& operator=(const PrivateMemory&) = delete;
  [[nodiscard]] float* get() const { return reinterpret_cast<float*>(at_); }

 private:
  static constexpr std::size_t bytes = std::size_t{2} << 20U;
  void from_pool() {
    void* at = nullptr;
    EXPECT_EQ(cudaMallocAsync(&at, bytes, nullptr), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    at_ = reinterpret_cast<CUdeviceptr>(at);
  }
  template <class F>
  static F* driver(const char* name, F* /*type*/) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found), cudaSuccess);
    return reinterpret_cast<F*>(function);
  }
  void by_hand() {
    CUmemAllocationProp what{};
    what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    EXPECT_EQ(cudaGetDevice(&what.location.id), cudaSuccess);
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(driver("cuMemCreate", &cuMemCreate)(&handle, bytes, &what, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver("cuMemAddressReserve", &cuMemAddressReserve)(&at_, bytes, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver("cuMemMap", &cuMemMap)(at_, bytes, 0, handle, 0), CUDA_SUCCESS);
    const CUmemAccessDesc access{what.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    EXPECT_EQ(driver("cuMemSetAccess", &cuMemSetAccess)(at_, bytes, &access, 1), CUDA_SUCCESS);
  }
  bool pool_;
  CUdeviceptr at_ = 0;
};

// 17: memory without a handle is staged, and refused by all ranks where it is to be registered, whoever's it is.
TEST(Bugs, MemoryThatCannotBeExported) {
  Communicator comm(MPI_COMM_WORLD, on_gpus());
  for (const bool pool : {true, false}) {
    const PrivateMemory in(pool), out(pool);
    const PlainMemory plain(1000);
    int turn = 0;
    for (const Plan& plan : plans(comm, true)) sum(comm, in.get(), out.get(), 1000, ++turn, plan);
    const auto text = error_of([&] { comm.register_buffer(comm.rank() == 0 ? in.get() : plain.get(), 4000); });
    EXPECT_NE(text.find("rank 0: peers cannot map this buffer"), std::string::npos) << text;
    sum(comm, in.get(), plain.get(), 1000, ++turn, {.variant = "mesh", .blocks = 1, .threads = 32});
  }
}

// 18: payloads that look like flags, sentinels or numbers of calls.
TEST(Bugs, PayloadsThatLookLikeFlags) {
  Communicator comm(MPI_COMM_WORLD, on_gpus());
  std::vector<std::uint32_t> words{0,          0x80000000, 0x80000001, 1,          0x007FFFFF, 0x7F800000,
                                   0xFF800000, 0x7FC00000, 0xFFC00001, 0xFFFFFFFF, 0xFFFFFFFE};
  for (std::uint32_t call = 1; call < 40; ++call) words.push_back(call);
  const auto count = static_cast<Index>(words.size());
  auto in = comm.allocate<std::uint32_t>(count), out = comm.allocate<std::uint32_t>(count);
  const auto word_of = [&](int rank, int turn, std::size_t i) {
    return words[(i * static_cast<std::size_t>(rank + 1) + static_cast<std::size_t>(turn)) % words.size()];
  };
  for (const Plan& plan : plans(comm, true))
    for (int turn = 0; turn < 12; ++turn) {
      std::vector<std::uint32_t> mine(words.size()), most(words.size()), seen(words.size());
      for (std::size_t i = 0; i < words.size(); ++i) {
        mine[i] = word_of(comm.rank(), turn, i);
        for (int r = 0; r < comm.size(); ++r) most[i] = std::max(most[i], word_of(r, turn, i));
      }
      comm.copy(in.data(), mine.data(), count * 4);
      comm.allreduce(in.data(), out.data(), count, DType::u32, Op::max, plan);
      comm.copy(seen.data(), out.data(), count * 4);
      ASSERT_EQ(seen, most) << to_string(plan) << ", turn " << turn;
    }
}

/// Both outputs of a fused kernel on a device, for the same data everywhere.
std::vector<bf16> fused_on(Communicator& comm, Collective collective, Index rows, Index cols) {
  const bool scattered = collective == Collective::reduce_scatter_rms_norm;
  const auto count = rows * cols, mine = scattered ? comm.my_rows(rows).count * cols : count;
  auto in = comm.allocate<bf16>(count), gamma = comm.allocate<bf16>(cols);
  auto sums = comm.allocate<bf16>(count), normalised = comm.allocate<bf16>(count);
  std::vector<bf16> values(static_cast<std::size_t>(count)), weights(static_cast<std::size_t>(cols));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        from_float<bf16>(static_cast<float>((i * 37 + static_cast<std::size_t>(comm.rank()) * 11) % 97) / 16 - 3);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = from_float<bf16>(1 + static_cast<float>(i % 5) / 8);
  comm.copy(in.data(), values.data(), count * 2);
  comm.copy(gamma.data(), weights.data(), cols * 2);
  const Plan plan{std::string(name_of(collective)), 1, comm.device() == DeviceKind::cuda ? 64 : 1, 0};
  comm.fused({collective,
              in.data(),
              nullptr,
              sums.data(),
              normalised.data(),
              rows,
              cols,
              DType::bf16,
              {gamma.data(), 1e-5, 0},
              nullptr},
             plan);
  std::vector<bf16> both(static_cast<std::size_t>(2 * mine));
  comm.copy(both.data(), sums.data(), mine * 2);
  comm.copy(both.data() + mine, normalised.data(), mine * 2);
  return both;
}

// 22, 23, 26: rows that are no power of two, shorter than a block has threads, fewer than ranks: the host's bits.
TEST(Bugs, FusedRowsOfAnyLength) {
  Communicator gpus(MPI_COMM_WORLD, on_gpus()), host(MPI_COMM_WORLD, {.table = "none"});
  for (const Collective collective : {Collective::reduce_scatter_rms_norm, Collective::allreduce_rms_norm})
    for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {5, 8}, {2, 64}, {7, 80}, {3, 1000}, {2, 2047}}) {
      const auto seen = fused_on(gpus, collective, rows, cols), right = fused_on(host, collective, rows, cols);
      ASSERT_EQ(seen.size(), right.size());
      for (std::size_t i = 0; i < seen.size(); ++i)
        ASSERT_EQ(to_float(seen[i]), to_float(right[i]))
            << name_of(collective) << ' ' << rows << 'x' << cols << ", " << i;
    }
}

}  // namespace
}  // namespace attune::emulated
