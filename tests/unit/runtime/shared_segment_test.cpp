/// Memory that ranks share: what the node does not have is refused before it is touched, and whatever ends a rank while
/// memory is allocated, no name of it is left in /dev/shm.
#include "runtime/shared_segment.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "core/error.h"
#include "runtime/node_memory.h"

namespace attune::host {
namespace {

/// A thread that passes for a process, and looks into /dev/shm at every collective step.
class Watching final : public Bootstrap {
 public:
  Watching(std::unique_ptr<Bootstrap> under, std::uintmax_t& largest) : under_(std::move(under)), largest_(largest) {}
  [[nodiscard]] int rank() const override { return under_->rank(); }
  [[nodiscard]] int size() const override { return under_->size(); }
  [[nodiscard]] bool one_process() const override { return false; }
  void allgather(const void* mine, void* all, std::size_t bytes) override {
    look();
    under_->allgather(mine, all, bytes);
  }
  void barrier() override { under_->barrier(); }

 private:
  /// The size of the largest object of this process that has a name.
  void look() const {
    const std::string mine = "attune-" + std::to_string(::getpid()) + "-";
    std::error_code gone;  // by another rank, meanwhile
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", gone))
      if (entry.path().filename().string().starts_with(mine))
        if (const auto size = entry.file_size(gone); !gone) largest_ = std::max(largest_, size);
  }
  std::unique_ptr<Bootstrap> under_;
  std::uintmax_t& largest_;
};

/// f(bootstrap, rank) on every rank; the largest named object that any saw.
template <class F>
std::uintmax_t watched(int ranks, F f) {
  auto bootstraps = make_local_bootstraps(ranks);
  std::vector<std::uintmax_t> largest(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < largest.size(); ++r)
    threads.emplace_back([&, r] {
      Watching bootstrap(std::move(bootstraps[r]), largest[r]);
      f(bootstrap, static_cast<int>(r));
    });
  for (auto& thread : threads) thread.join();
  return *std::max_element(largest.begin(), largest.end());
}

TEST(SharedSegment, NothingThatHasANameHasMemory) {
  const auto largest = watched(3, [](Bootstrap& bootstrap, int rank) {
    const SharedSegment segment(bootstrap, 4096 * (rank + 1));
    *segment.base(rank) = std::byte{7};
    (void)bootstrap.gather(rank);
    for (int peer = 0; peer < 3; ++peer) EXPECT_EQ(*segment.base(peer), std::byte{7}) << "of rank " << peer;
    (void)bootstrap.gather(rank);
  });
  EXPECT_EQ(largest, 0U) << "bytes stay in /dev/shm when a rank is killed here";
}

Status status_of(Bootstrap& bootstrap, Bytes bytes) {
  try {
    const SharedSegment segment(bootstrap, bytes);
  } catch (const Error& error) {
    return error.status();
  }
  return Status::success;
}

/// One rank that wants too much is refused on all; the same for threads, which /dev/shm does not concern.
TEST(SharedSegment, WhatTheNodeDoesNotHaveIsRefusedOnAllRanks) {
  const auto greedy = [](Bootstrap& bootstrap, int rank) {
    EXPECT_EQ(status_of(bootstrap, rank == 1 ? Bytes{1} << 50 : 64), Status::device);
    EXPECT_EQ(status_of(bootstrap, 64), Status::success) << "and the ranks are still in step";
  };
  EXPECT_EQ(watched(2, greedy), 0U);
  auto bootstraps = make_local_bootstraps(2);
  std::thread other([&] { greedy(*bootstraps[1], 1); });
  greedy(*bootstraps[0], 0);
  other.join();
}

/// Passes collective steps on, and notes at each whether all memory of the objects that are open has been taken.
class Measuring final : public Bootstrap {
 public:
  explicit Measuring(std::unique_ptr<Bootstrap> under) : under_(std::move(under)) {}
  [[nodiscard]] int rank() const override { return under_->rank(); }
  [[nodiscard]] int size() const override { return under_->size(); }
  [[nodiscard]] bool one_process() const override { return false; }
  void allgather(const void* mine, void* all, std::size_t bytes) override {
    objects_ = taken_ = 0;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", gone)) {
      struct stat about {};
      const bool ours = std::filesystem::read_symlink(entry, gone).string().starts_with("/dev/shm/attune-");
      if (!ours || ::stat(entry.path().c_str(), &about) != 0 || about.st_size == 0) continue;
      ++objects_;
      taken_ += about.st_blocks * 512 >= about.st_size ? 1 : 0;
    }
    under_->allgather(mine, all, bytes);
  }
  void barrier() override { under_->barrier(); }
  [[nodiscard]] bool all_taken() const { return objects_ > 0 && taken_ == objects_; }

 private:
  std::unique_ptr<Bootstrap> under_;
  int objects_ = 0, taken_ = 0;
};

/// The NUMA nodes that pages which are in use lie on, sorted, without repetition; empty where the system does not tell.
std::vector<int> nodes_of(const std::byte* memory, std::size_t pages) {
  std::vector<const void*> page(pages);
  std::vector<int> node(pages, -1);
  volatile std::byte seen{};
  for (std::size_t k = 0; k < pages; ++k) {
    page[k] = memory + k * 4096;
    seen = memory[k * 4096];  // reading what is there moves nothing
  }
  (void)seen;
  if (::syscall(SYS_move_pages, 0, pages, page.data(), nullptr, node.data(), 0) != 0) return {};
  std::ranges::sort(node);
  node.erase(std::unique(node.begin(), node.end()), node.end());
  return node;
}
/// The node that this thread runs on, and stays on.
int stay_on_node() {
  unsigned cpu = 0, node = 0;
  if (::syscall(SYS_getcpu, &cpu, &node, nullptr) != 0) return -1;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  (void)::sched_setaffinity(0, sizeof one, &one);
  return ::syscall(SYS_getcpu, &cpu, &node, nullptr) == 0 ? static_cast<int>(node) : -1;
}

/// f(rank) on two threads.
template <class F>
void on_two_threads(F f) {
  std::thread other([&] { f(1); });
  std::thread one([&] { f(0); });
  one.join();
  other.join();
}

/// Every page of a rank's part has been taken by its owner before a peer can map it, and lies on the owner's node:
/// where a peer's first store would have put it is seen on machines with several nodes alone.
TEST(SharedSegment, PagesAreFirstTouchedByTheirOwner) {
  constexpr Bytes bytes = 300 * 4096;
  const auto expect_on_my_node = [](const SharedSegment& segment, int rank) {
    const int node = stay_on_node();
    const auto nodes = nodes_of(segment.base(rank), bytes / 4096);
    EXPECT_TRUE(nodes.empty() || nodes == std::vector{node}) << nodes.size() << " nodes, or another than mine";
  };
  auto processes = make_local_bootstraps(2), threads = make_local_bootstraps(2);
  on_two_threads([&](int rank) {
    (void)stay_on_node();
    Measuring bootstrap(std::move(processes[static_cast<std::size_t>(rank)]));
    const SharedSegment segment(bootstrap, bytes);
    EXPECT_TRUE(bootstrap.all_taken()) << "the rest would lie where who comes first runs";
    expect_on_my_node(segment, rank);
    (void)bootstrap.gather(rank);
  });
  on_two_threads([&](int rank) {
    (void)stay_on_node();
    const SharedSegment segment(*threads[static_cast<std::size_t>(rank)], bytes);
    expect_on_my_node(segment, rank);
    (void)threads[static_cast<std::size_t>(rank)]->gather(rank);
  });
}

TEST(SharedSegment, MoreRanksThanATeamMayHaveAreUnsupported) {
  watched(max_ranks + 1, [](Bootstrap& bootstrap, int) { EXPECT_EQ(status_of(bootstrap, 64), Status::unsupported); });
}

TEST(NodeMemory, IsReadFromWhatTheSystemSays) {
  EXPECT_EQ(attune::detail::available_in("MemTotal: 9 kB\nMemAvailable:   23842692 kB\n"), Bytes{23842692} * 1024);
  EXPECT_EQ(attune::detail::available_in("MemTotal: 9 kB\n"), unknown_bytes);
  EXPECT_EQ(attune::detail::available_in(""), unknown_bytes);
  EXPECT_EQ(attune::detail::left_in_group("max\n", "5\n", ""), unknown_bytes);
  EXPECT_EQ(attune::detail::left_in_group("", "", ""), unknown_bytes);
  EXPECT_EQ(attune::detail::left_in_group("1000\n", "400\n", "file 1\ninactive_file 100\n"), 700);
  EXPECT_EQ(attune::detail::left_in_group("1000\n", "400\n", "inactive_file 1\ntotal_inactive_file 100\n"), 700);
  EXPECT_EQ(attune::detail::left_in_group("1000\n", "1400\n", ""), 0);
  EXPECT_GT(node_memory().available, 0);
}

TEST(NodeMemory, TheScarcerOneIsNamed) {
  const NodeMemory node{.available = Bytes{4} << 30, .shared = Bytes{1} << 20};
  EXPECT_EQ(why_too_much(1 << 20, true, node), "");
  EXPECT_EQ(why_too_much(2 << 20, true, node), "1.0 MiB are free in /dev/shm");
  EXPECT_EQ(why_too_much(2 << 20, false, node), "");
  EXPECT_EQ(why_too_much(0x1p70, false, node), "4.0 GiB of memory are available");
  EXPECT_EQ(why_too_much(0x1p70, true, {}), "") << "nothing is known";
}

}  // namespace
}  // namespace attune::host
