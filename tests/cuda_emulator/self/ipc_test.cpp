/// Memory of other processes: what handles give and refuse, and kernels of several processes that wait for each other.
#include <mpi.h>

#include <numeric>

#include "check.h"
#include "launches.h"

namespace attune::emulator_test {
namespace {

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int size_of_world() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
/// Everybody's handle.
std::vector<cudaIpcMemHandle_t> exchange_handles(void* mine) {
  cudaIpcMemHandle_t handle{};
  EXPECT_CUDA(cudaIpcGetMemHandle(&handle, mine));
  std::vector<cudaIpcMemHandle_t> all(static_cast<std::size_t>(size_of_world()));
  MPI_Allgather(&handle, sizeof handle, MPI_BYTE, all.data(), sizeof handle, MPI_BYTE, MPI_COMM_WORLD);
  return all;
}
void* open(const cudaIpcMemHandle_t& handle) {
  void* p = nullptr;
  EXPECT_CUDA(cudaIpcOpenMemHandle(&p, handle, cudaIpcMemLazyEnablePeerAccess));
  return p;
}

TEST(Ipc, KernelsOfSeveralProcessesWaitForEachOther) {
  const int rank = rank_of_world(), ranks = size_of_world();
  ASSERT_CUDA(cudaSetDevice(rank));
  constexpr int count = 1000;
  // Flag first, then the message of the left neighbour: at an offset inside the allocation.
  auto* mine = device_array<int>(64 + count);
  ASSERT_CUDA(cudaMemset(mine, 0, 256));
  const auto handles = exchange_handles(mine + 10);  // inside: opening gives the base all the same
  const auto right = static_cast<std::size_t>((rank + 1) % ranks);
  auto* theirs = static_cast<int*>(open(handles[right]));
  EXPECT_EQ(open(handles[right]), theirs);  // a second time: the same, counted
  for (unsigned epoch = 1; epoch <= 5; ++epoch) {
    std::vector<int> in(count);
    std::iota(in.begin(), in.end(), 10000 * rank + static_cast<int>(epoch));
    const int* from = device_array(in);
    MPI_Barrier(MPI_COMM_WORLD);  // the left one's message of the epoch before has been checked
    ASSERT_CUDA(launch_exchange({1, 64}, from, theirs + 64, reinterpret_cast<unsigned*>(theirs),
                                reinterpret_cast<unsigned*>(mine), count, epoch));
    const auto got = content_of(mine + 64, count);
    for (int k = 0; k < count; ++k)
      ASSERT_EQ(got[k], 10000 * ((rank + ranks - 1) % ranks) + static_cast<int>(epoch) + k);
  }
  EXPECT_CUDA(cudaIpcCloseMemHandle(theirs));
  EXPECT_CUDA(cudaIpcCloseMemHandle(theirs));
  EXPECT_EQ(cudaIpcCloseMemHandle(theirs), cudaErrorInvalidValue);
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(Ipc, HandlesAreRefusedWhereRealOnesAre) {
  const int rank = rank_of_world();
  ASSERT_CUDA(cudaSetDevice(rank));
  void* p = device_array<int>(100);
  cudaIpcMemHandle_t handle{};
  ASSERT_CUDA(cudaIpcGetMemHandle(&handle, p));
  void* opened = nullptr;
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess), cudaErrorDeviceUninitialized);
  void* pool = nullptr;
  ASSERT_CUDA(cudaMallocAsync(&pool, 100, nullptr));
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, pool), cudaErrorInvalidValue);
  void* host = nullptr;
  ASSERT_CUDA(cudaHostAlloc(&host, 100, 0));
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, host), cudaErrorInvalidValue);
  const auto handles = exchange_handles(p);
  const auto other = static_cast<std::size_t>((rank + 1) % size_of_world());
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, handles[other], 0), cudaErrorInvalidValue);
  opened = open(handles[other]);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, opened), cudaErrorInvalidValue);  // of another process: not handed on
  EXPECT_CUDA(cudaIpcCloseMemHandle(opened));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(Ipc, HandlesOfReleasedMemoryAreStale) {
  const int rank = rank_of_world();
  ASSERT_CUDA(cudaSetDevice(rank));
  void* p = device_array<int>(100);
  const auto handles = exchange_handles(p);
  ASSERT_CUDA(cudaFree(p));
  device_array<int>(100);  // may get the same file descriptor
  MPI_Barrier(MPI_COMM_WORLD);
  void* opened = nullptr;
  const auto other = static_cast<std::size_t>((rank + 1) % size_of_world());
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, handles[other], cudaIpcMemLazyEnablePeerAccess),
            cudaErrorMapBufferObjectFailed);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Device 6 says that it can access device 7, and reads something else: only a test with data tells.
TEST(Ipc, ClaimedAccessMayDeliverOtherData) {
  const int rank = rank_of_world();
  ASSERT_CUDA(cudaSetDevice(rank == 0 ? 6 : 7));
  int* mine = device_array(std::vector<int>(10, 1000 + rank));
  const auto handles = exchange_handles(mine);
  if (rank < 2) {
    int can = 0;
    ASSERT_CUDA(cudaDeviceCanAccessPeer(&can, 6, 7));
    EXPECT_EQ(can, 1);
    auto* theirs = static_cast<int*>(open(handles[static_cast<std::size_t>(1 - rank)]));
    const int got = content_of(theirs, 1)[0];
    EXPECT_EQ(rank == 0 ? got != 1001 : got == 1000, true);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace attune::emulator_test
