/// A small program that runs one variant hard on teams of threads and exits with 1 at the first fault. The mutation
/// check builds it, with ThreadSanitizer, over copies of kernels/ in which one line is wrong. It brings the kernel
/// table of that one variant (ATTUNE_PROBE names it), so that little has to be compiled.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "core/error.h"
#include "runtime/host_registry.h"
#include "runtime/host_team.h"
#include "variants/registry.h"

#define ATTUNE_QUOTE(word) #word
#define ATTUNE_TEXT(word) ATTUNE_QUOTE(word)

namespace attune::host {

std::string_view instruction_set() { return "probe"; }
const KernelTable& kernels(std::size_t /*variant_index*/) {
  using V = variants::ATTUNE_PROBE;
  static const KernelTable table = [] {
    KernelTable made;
    made.sum[static_cast<std::size_t>(DType::f32)] = &sum_kernel<V, isa::baseline, float, 0>;
    made.sum[static_cast<std::size_t>(DType::i8)] = &sum_kernel<V, isa::baseline, std::int8_t, 0>;
    made.sum2 = made.sum;
    return made;
  }();
  return table;
}
const KernelTable& local_kernels() { return kernels(0); }

}  // namespace attune::host

namespace attune::mutation {
namespace {

const auto which = static_cast<std::size_t>(&variant(ATTUNE_TEXT(ATTUNE_PROBE)) - variant_table.data());
constexpr bool several_domains = variants::ATTUNE_PROBE::traits.needs == Needs::domains;
constexpr Bytes capacity = 131072;
constexpr Bytes guard = 64;

[[noreturn]] void fail(const char* what, int rank, int call, Index at) {
  std::fprintf(stderr, "probe: %s: rank %d call %d index %lld\n", what, rank, call, static_cast<long long>(at));
  ::_exit(1);
}

struct Call {
  DType dtype;
  Index count;
  Plan plan;
  int place;  ///< 0 registered, 1 staged, 2 in place, 3 staged input and registered output, 4 in place and staged
};

unsigned hash(unsigned x) {
  x = (x ^ (x >> 16)) * 0x7FEB352DU;
  x = (x ^ (x >> 15)) * 0x846CA68BU;
  return x ^ (x >> 16);
}
int input(int rank, Index i, int call) {
  return static_cast<int>(hash(static_cast<unsigned>(rank * 7919 + call * 104729) + static_cast<unsigned>(i)) % 13) - 6;
}

Call draw(int call) {
  constexpr Index counts[] = {1, 17, 331, 64, 319, 1500, 100, 16, 130, 2500};
  constexpr Bytes chunks[] = {64, 0, 192};
  const unsigned h = hash(static_cast<unsigned>(call) + 77);
  Call c;
  c.dtype = h % 3 == 0 ? DType::i8 : DType::f32;
  c.count = call % 40 == 39 ? 26000 : counts[call % 10];  // now and then more than the least scratch: several pieces
  c.plan = {ATTUNE_TEXT(ATTUNE_PROBE), 1 + static_cast<int>(h / 3 % 2), 1, chunks[h / 6 % 3]};
  c.place = static_cast<int>(h / 18 % 5);
  return c;
}

void put(DType dtype, std::byte* at, Index i, int value) {
  if (dtype == DType::f32) reinterpret_cast<float*>(at)[i] = static_cast<float>(value);
  if (dtype == DType::i8) reinterpret_cast<std::int8_t*>(at)[i] = static_cast<std::int8_t>(value);
}
int get(DType dtype, const std::byte* at, Index i) {
  return dtype == DType::f32 ? static_cast<int>(reinterpret_cast<const float*>(at)[i])
                             : reinterpret_cast<const std::int8_t*>(at)[i];
}

class Rank {
 public:
  Rank(std::unique_ptr<Bootstrap> bootstrap, int near, Epoch first_epoch)
      : team_(std::move(bootstrap), {.timeout_s = 4,
                                     .scratch_bytes = 8192,
                                     .node_cores = 64,
                                     .rank_cores = 64,
                                     .near = near,
                                     .first_epoch = first_epoch}),
        shared_(team_.allocate(4 * capacity)),
        own_(new (std::align_val_t{64}) std::byte[4 * capacity]) {}
  ~Rank() { ::operator delete[](own_, std::align_val_t{64}); }

  void run(int number) {
    const Call c = draw(number);
    const bool in_place = c.place == 2 || c.place == 4;
    std::byte* in = (c.place == 0 || c.place == 2 ? shared_ : own_) + guard;
    std::byte* out = in_place ? in : (c.place == 1 ? own_ : shared_) + 2 * capacity + guard;
    const Bytes bytes = c.count * size_of(c.dtype);
    std::memset(out - guard, 0x77, static_cast<std::size_t>(bytes + 2 * guard));
    for (Index i = 0; i < c.count; ++i) put(c.dtype, in, i, input(team_.rank(), i, number));
    if (hash(static_cast<unsigned>(number * 8 + team_.rank())) % 9 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(700));
    team_.allreduce(which, c.plan, {in, out, c.count, c.dtype, Op::sum, {}});
    for (Index i = 0; i < c.count; ++i) {
      int want = 0;
      for (int r = 0; r < team_.size(); ++r) want += input(r, i, number);
      if (get(c.dtype, out, i) != want) fail("wrong", team_.rank(), number, i);
    }
    for (Bytes k = 1; k <= guard; ++k)
      if (out[-k] != std::byte{0x77} || out[bytes + k - 1] != std::byte{0x77}) fail("guard", team_.rank(), number, k);
    for (Index i = 0; i < c.count && !in_place; ++i)
      if (get(c.dtype, in, i) != input(team_.rank(), i, number)) fail("input changed", team_.rank(), number, i);
    std::memset(in, 0x11, static_cast<std::size_t>(bytes));
  }

  /// Ranks that are called differently must find out, all of them, and not by waiting.
  void differ() {
    Call c = draw(2);
    c.count += team_.rank();
    try {
      team_.allreduce(which, c.plan, {own_, own_ + capacity, c.count, c.dtype, Op::sum, {}});
    } catch (const Error& error) {
      if (error.status() == Status::usage || error.status() == Status::internal) return;
      fail("a mismatch ran into the time limit", team_.rank(), 0, 0);
    }
    fail("a mismatch was not noticed", team_.rank(), 0, 0);
  }

 private:
  host::HostTeam team_;
  std::byte* shared_;
  std::byte* own_;
};

void run_team(int ranks, int near, int calls, Epoch first_epoch, bool differ) {
  auto bootstraps = make_local_bootstraps(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        Rank rank(std::move(bootstraps[static_cast<std::size_t>(r)]), near, first_epoch);
        for (int call = 0; call < calls; ++call) rank.run(call);
        if (differ) rank.differ();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "probe: %s\n", error.what());
        ::_exit(1);
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace attune::mutation

int main() {
  for (const int ranks : {2, 3, 5}) attune::mutation::run_team(ranks, ranks, 120, 0xFFFFFFFFU - 100, false);
  if (attune::mutation::several_domains)
    for (const int near : {1, 2}) attune::mutation::run_team(3 * near, near, 120, 0xFFFFFFFFU - 100, false);
  attune::mutation::run_team(2, 2, 1, 0, true);
}
