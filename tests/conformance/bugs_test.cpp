/// Faults that other projects had, as tests of their kind: what BUGS.md lists and the random cases and storms do not
/// already do all the time. Numbers are rows of that list.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "cases.h"
#include "core/floats.h"
#include "random.h"
#include "variants/registry.h"

namespace attune::conformance {
namespace {

Options plain(Bytes scratch = Bytes{1} << 20) {
  Options options;
  options.table = "none";
  options.timeout_s = 60;
  options.scratch_bytes = scratch;
  return options;
}

class Bugs : public testing::TestWithParam<std::string_view> {
 protected:
  [[nodiscard]] static Plan plan(int blocks = 1) { return {std::string(GetParam()), blocks, 1, 0}; }
  /// Sums of f32 on `ranks` ranks where rank r holds r + i mod 97 + salt; throws at the first wrong element.
  static void sum_and_check(Communicator& comm, const Plan& plan, float* in, float* out, Index count, int salt) {
    for (Index i = 0; i < count; ++i) in[i] = static_cast<float>(comm.rank() + i % 97 + salt);
    comm.allreduce(in, out, count, DType::f32, Op::sum, plan);
    const int n = comm.size();
    for (Index i = 0; i < count; ++i) {
      const auto want = static_cast<float>(n * (i % 97 + salt) + n * (n - 1) / 2);
      if (out[i] != want)
        throw Error(Status::wrong, plan.variant + " count " + std::to_string(count) + " index " + std::to_string(i) +
                                       ": got " + std::to_string(out[i]) + ", want " + std::to_string(want));
    }
  }
};

/// Rows 6, 33: messages as large as scratch and mailboxes, and a little larger; rows 5, 19, 30: not divisible by
/// anything.
TEST_P(Bugs, SizesAroundEveryCapacity) {
  with_local_crew(3, [&](Crew& crew) {
    auto comm = crew.communicator(plain(8192));
    auto in = comm.allocate<float>(20000);
    auto out = comm.allocate<float>(20000);
    std::vector<float> own(20001);
    for (const Index words : {2048, 4096, 16384, 12, 16})
      for (const Index more : {-16, -1, 0, 1, 4, 16, 17}) {
        if (words + more < 0) continue;
        sum_and_check(comm, plan(2), in.data(), out.data(), words + more, 1);
        sum_and_check(comm, plan(1), own.data() + 1, own.data() + 1, words + more, 2);
      }
    for (const Index count : {4, 12, 20, 36, 79, 80, 81, 160})
      sum_and_check(comm, plan(3), in.data(), out.data(), count, 3);
  });
}

/// Row 9: two payloads that alternate through the staging copy: a stale one would be seen. Row 8: at odd offsets.
TEST_P(Bugs, StagedPayloadsAreNeverThoseOfTheCallBefore) {
  with_local_crew(4, [&](Crew& crew) {
    auto comm = crew.communicator(plain());
    std::vector<float> in(700);
    std::vector<float> out(700);
    for (int call = 0; call < effort(300); ++call)
      sum_and_check(comm, plan(1 + call % 2), in.data() + call % 5, out.data() + call % 7, 600, call % 2 * 1000);
  });
}

/// Row 14: a rank that is late in the set-up, while others are already in their first call.
TEST_P(Bugs, FirstCallOfALateRank) {
  for (int late = 0; late < 3; ++late)
    with_local_crew(3, [&](Crew& crew) {
      if (crew.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      auto comm = crew.communicator(plain());
      auto in = comm.allocate<float>(100);
      if (crew.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      sum_and_check(comm, plan(), in.data(), in.data(), 100, late);
    });
}

/// Row 16: memory that was released, and memory that took its place. Row 31: more of it.
TEST_P(Bugs, MemoryThatTookThePlaceOfReleasedMemory) {
  with_local_crew(2, [&](Crew& crew) {
    auto comm = crew.communicator(plain());
    for (int round = 0; round < 8; ++round) {
      auto in = comm.allocate<float>(1000 << round % 4);
      auto out = comm.allocate<float>(1000 << round % 4);
      sum_and_check(comm, plan(), in.data(), out.data(), 1000 << round % 4, round);
    }
  });
}

/// Row 17: input in memory that cannot be shared, nor written.
TEST_P(Bugs, ReadOnlyInput) {
  constexpr Index count = 1024;
  with_local_crew(2, [&](Crew& crew) {
    auto comm = crew.communicator(plain());
    void* map = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* in = static_cast<float*>(map);
    for (Index i = 0; i < count; ++i) in[i] = static_cast<float>(i + crew.rank());
    ::mprotect(map, 4096, PROT_READ);
    std::vector<float> out(count);
    comm.allreduce(in, out.data(), count, DType::f32, Op::sum, plan());
    for (Index i = 0; i < count; ++i)
      if (out[static_cast<std::size_t>(i)] != static_cast<float>(2 * i + 1))
        throw Error(Status::wrong, "read-only input");
    ::munmap(map, 4096);
  });
}

/// Row 18: payloads that in-band protocols took for "not yet there": zeros of both signs, subnormals, NaN, all ones.
TEST_P(Bugs, PayloadsThatLookLikeFlags) {
  constexpr std::uint32_t patterns[] = {0,           0x80000000U, 1U,          0x80000001U, 0x007FFFFFU, 0x807FFFFFU,
                                        0x7FC00000U, 0xFFC12345U, 0x7F800000U, 0xFF800000U, 0x80008000U};
  with_local_crew(3, [&](Crew& crew) {
    auto comm = crew.communicator(plain());
    auto in = comm.allocate<float>(512);
    auto out = comm.allocate<float>(512);
    for (const std::uint32_t pattern : patterns)
      for (const Index count : {Index{3}, Index{16}, Index{512}})
        for (int repeat = 0; repeat < 4; ++repeat) {
          const auto value = std::bit_cast<float>(pattern);
          for (Index i = 0; i < count; ++i) in[i] = crew.rank() == 1 ? value : -0.0F;
          comm.allreduce(in.data(), out.data(), count, DType::f32, Op::sum, plan());
          for (Index i = 0; i < count; ++i) {
            const bool same = std::isnan(value) ? std::isnan(out[i]) : std::bit_cast<std::uint32_t>(out[i]) == pattern;
            if (!same) throw Error(Status::wrong, plan().variant + ": pattern " + std::to_string(pattern));
          }
        }
    auto bytes = comm.allocate<std::uint8_t>(4096);
    for (const int value : {0, 0xFF, 0x80}) {  // the whole message one flag-like word
      for (Index i = 0; i < 4096; ++i) bytes[i] = crew.rank() == 0 ? static_cast<std::uint8_t>(value) : 0;
      comm.allreduce(bytes.data(), bytes.data(), 4096, DType::u8, Op::sum, plan());
      for (Index i = 0; i < 4096; ++i)
        if (bytes[i] != value) throw Error(Status::wrong, plan().variant + ": bytes of " + std::to_string(value));
    }
  });
}

/// Row 29: few blocks, then many, then few: counters of blocks that were idle are in step. Rows 11, 32: all sizes.
TEST_P(Bugs, GridsThatGrowAndShrink) {
  with_local_crew(3, [&](Crew& crew) {
    auto comm = crew.communicator(plain());
    auto in = comm.allocate<float>(5000);
    auto out = comm.allocate<float>(5000);
    Random random(5);
    for (const int blocks : {1, 8, 1, 3, 16, 2, 1, 7})
      for (int call = 0; call < 4; ++call)
        sum_and_check(comm, plan(blocks), in.data(), out.data(), random.below(5000), call);
  });
}

/// Who pushes writes to a peer's inbox before it can know that the peer is in another call, which stages its input
/// there: a race that ThreadSanitizer sees. It is harmless: nobody reads the inbox before the difference is found.
bool races_in_different_variants([[maybe_unused]] Needs needs) {
#if defined(__SANITIZE_THREAD__)
  return needs == Needs::peer_inboxes || needs == Needs::peer_slots;
#else
  return false;
#endif
}

/// Rows 28, 35: ranks that were asked for different things find out instead of hanging or summing nonsense.
TEST_P(Bugs, RanksInDifferentCallsAreToldSo) {
  if (GetParam() == "naive") GTEST_SKIP() << "meets through the bootstrap, in whose calls a difference is not seen";
  const auto expect_refusal = [&](const char* what, auto call) {
    std::atomic<int> refused{0};
    with_local_crew(2, [&](Crew& crew) {
      auto options = plain();
      options.timeout_s = 20;
      auto comm = crew.communicator(options);
      std::vector<float> in(4000);
      std::vector<float> out(4000);
      const auto start = std::chrono::steady_clock::now();
      try {
        call(comm, in.data(), out.data());
      } catch (const Error& error) {
        const bool told = error.status() == Status::usage || error.status() == Status::internal;
        const bool soon = std::chrono::steady_clock::now() - start < std::chrono::seconds(15);
        if (told && soon) ++refused;
      }
    });
    EXPECT_EQ(refused, 2) << what;
  };
  expect_refusal("counts", [&](Communicator& comm, float* in, float* out) {
    comm.allreduce(in, out, 1000 + comm.rank(), DType::f32, Op::sum, plan());
  });
  expect_refusal("ops", [&](Communicator& comm, float* in, float* out) {
    comm.allreduce(in, out, 1000, DType::f32, comm.rank() == 0 ? Op::sum : Op::max, plan());
  });
  expect_refusal("blocks", [&](Communicator& comm, float* in, float* out) {
    comm.allreduce(in, out, 1000, DType::f32, Op::sum, plan(1 + comm.rank()));
  });
  if (races_in_different_variants(variant(GetParam()).traits.needs)) return;
  expect_refusal("variants", [&](Communicator& comm, float* in, float* out) {
    const bool mesh = GetParam() == "mesh";
    const Plan other{mesh ? "two_shot_write" : "mesh", 1, 1, 0};
    comm.allreduce(in, out, 1000, DType::f32, Op::sum, comm.rank() == 0 ? plan() : other);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Bugs, testing::ValuesIn(variants_to_test(false)),
                         [](const auto& info) { return std::string(info.param); });

/// Row 12: a second thread on one communicator is refused, and the call under way is not disturbed.
TEST(OneCommunicator, RefusesASecondThread) {
  std::atomic<bool> refused{false};
  with_local_crew(2, [&](Crew& crew) {
    auto comm = crew.communicator(plain());
    std::vector<float> in(64, 1);
    std::vector<float> out(64);
    const Plan plan{"mesh", 1, 1, 0};
    if (crew.rank() == 1) {
      while (!refused) std::this_thread::yield();  // rank 0 is kept waiting in its call
      comm.allreduce(in.data(), out.data(), 64, DType::f32, Op::sum, plan);
      return;
    }
    std::thread second([&] {
      std::vector<float> other(64);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      for (int trial = 0; trial < 100 && !refused; ++trial) {
        try {
          comm.allreduce(other.data(), other.data(), 0, DType::f32, Op::sum, plan);
          std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the first thread was not there yet
        } catch (const Error& error) {
          if (error.status() == Status::usage) refused = true;
        }
      }
      if (!refused) throw Error(Status::wrong, "two threads were let in");
    });
    comm.allreduce(in.data(), out.data(), 64, DType::f32, Op::sum, plan);
    second.join();
    for (const float value : out)
      if (value != 2) throw Error(Status::wrong, "the call under way was disturbed");
  });
  EXPECT_TRUE(refused);
}

/// Row 28: ranks with other settings never get a communicator.
TEST(OneCommunicator, IsNotMadeWithDifferentSettings) {
  std::atomic<int> refused{0};
  with_local_crew(3, [&](Crew& crew) {
    auto options = plain();
    if (crew.rank() == 2) options.numerics = Numerics::per_hop;
    try {
      auto comm = crew.communicator(options);
    } catch (const Error& error) {
      refused += error.status() == Status::usage ? 1 : 0;
    }
  });
  EXPECT_EQ(refused, 3);
}

}  // namespace
}  // namespace attune::conformance
