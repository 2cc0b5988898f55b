/// Measures allreduce plans against MPI_Allreduce and against copying, call by call in turn:
///   mpirun -n 2 allreduce_speed [--sizes 8,8K,1M] [--cache hot|rewritten] [--memory registered|staged]
///                               [--dtype f32|bf16] [--seconds 0.3] [--plans auto,two_shot_write] [--in-place]
/// One line per size and candidate: median of (last end - common start) in µs, and the vendor's median over it.
/// The vendor's column of bf16 is its sum of 16-bit integers. `memcpy` copies in to out on all ranks at once; `floor` does it with stores past the cache. A sample with an
/// involuntary context switch or a late start on any rank is dropped.
#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "attune/attune.hpp"

namespace {

using attune::Bytes;
using attune::Index;

std::int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

long involuntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

/// What the ranks share to start together and to tell each other when they ended.
struct Meeting {
  struct alignas(128) Place {
    std::atomic<std::uint32_t> arrived{0};
    std::atomic<std::uint32_t> done{0};
    std::int64_t end_ns = 0;
    bool spoilt = false;
  };
  alignas(128) std::atomic<std::uint32_t> go{0};
  std::int64_t start_ns = 0;
  std::array<Place, attune::max_ranks> place;
};

class Clock {
 public:
  explicit Clock(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    void* at = nullptr;
    MPI_Win_allocate_shared(rank_ == 0 ? sizeof(Meeting) : 0, 1, MPI_INFO_NULL, comm, &at, &window_);
    MPI_Aint size = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, 0, &size, &unit, &at);
    meeting_ = static_cast<Meeting*>(at);
    if (rank_ == 0) new (meeting_) Meeting;
    MPI_Barrier(comm);
    crowded_ = ranks_ > ::sysconf(_SC_NPROCESSORS_ONLN);
  }
  ~Clock() { MPI_Win_free(&window_); }

  /// One timed call: µs from the common start to the last end, or a negative number when the sample is spoilt.
  /// The same on every rank.
  double time(const std::function<void()>& call, std::int64_t slack_ns) {
    ++turn_;
    const long switches = involuntary_switches();
    auto& mine = meeting_->place[static_cast<std::size_t>(rank_)];
    mine.arrived.store(turn_, std::memory_order_release);
    if (rank_ == 0) {
      for (int r = 0; r < ranks_; ++r) await(meeting_->place[static_cast<std::size_t>(r)].arrived);
      meeting_->start_ns = now_ns() + slack_ns;
      meeting_->go.store(turn_, std::memory_order_release);
    }
    await(meeting_->go);
    const std::int64_t start = meeting_->start_ns;
    const bool late = now_ns() > start;
    while (now_ns() < start) {
    }
    call();
    mine.end_ns = now_ns();
    mine.spoilt = (late && !crowded_) || (involuntary_switches() != switches && !crowded_);
    mine.done.store(turn_, std::memory_order_release);
    std::int64_t last = 0;
    bool spoilt = false;
    for (int r = 0; r < ranks_; ++r) {
      auto& theirs = meeting_->place[static_cast<std::size_t>(r)];
      await(theirs.done);
      last = std::max(last, theirs.end_ns);
      spoilt = spoilt || theirs.spoilt;
    }
    return spoilt ? -1 : static_cast<double>(last - start) / 1000;
  }

 private:
  void await(const std::atomic<std::uint32_t>& flag) const {
    for (unsigned spin = 1; flag.load(std::memory_order_acquire) < turn_; ++spin)
      if (crowded_ || spin % 4096 == 0) ::sched_yield();
  }
  MPI_Comm comm_;
  MPI_Win window_ = MPI_WIN_NULL;
  Meeting* meeting_ = nullptr;
  int rank_ = 0, ranks_ = 1;
  bool crowded_ = false;
  std::uint32_t turn_ = 0;
};

void stream_copy(void* to, const void* from, Bytes bytes) {
#if defined(__SSE2__)
  auto* out = static_cast<__m128i*>(to);
  const auto* in = static_cast<const __m128i*>(from);
  for (Bytes i = 0; i < bytes / 16; ++i) _mm_stream_si128(out + i, _mm_load_si128(in + i));
  _mm_sfence();
#else
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}

Bytes parse_size(const std::string& text) {
  char* unit = nullptr;
  const Bytes value = std::strtoll(text.c_str(), &unit, 10);
  return value << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const auto comma = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

struct Settings {
  std::vector<Bytes> sizes;
  std::vector<std::string> plans{"auto"};
  bool rewritten = false, staged = false, in_place = false, bf16 = false;
  double seconds = 0.3;
};

Settings read(int argc, char** argv) {
  Settings s;
  for (Bytes b = 8; b <= 256 << 20; b *= 4) s.sizes.push_back(b);
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (key == "--in-place") {
      s.in_place = true;
      continue;
    }
    ++i;
    if (key == "--cache") s.rewritten = value == "rewritten";
    if (key == "--memory") s.staged = value == "staged";
    if (key == "--dtype") s.bf16 = value == "bf16";
    if (key == "--seconds") s.seconds = std::stod(value);
    if (key == "--plans") s.plans = split(value);
    if (key != "--sizes") continue;
    s.sizes.clear();
    for (const auto& word : split(value)) s.sizes.push_back(parse_size(word));
  }
  return s;
}

double quantile(std::vector<double> samples, double q) {
  if (samples.empty()) return -1;
  std::ranges::sort(samples);
  return samples[static_cast<std::size_t>(q * static_cast<double>(samples.size() - 1))];
}

class Measurement {
 public:
  Measurement(const Settings& s) : s_(s), comm_(MPI_COMM_WORLD), clock_(MPI_COMM_WORLD) {
    const Bytes most = *std::ranges::max_element(s.sizes);
    if (s.staged) {
      in_ = static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<std::size_t>(most + 4096)));
      out_ = static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<std::size_t>(most + 4096)));
    } else {
      in_ = static_cast<std::byte*>(comm_.allocate_bytes(most));
      out_ = static_cast<std::byte*>(comm_.allocate_bytes(most));
    }
    std::memset(in_, 0, static_cast<std::size_t>(most));
    std::memset(out_, 0, static_cast<std::size_t>(most));
    if (s.in_place) out_ = in_;
  }

  void measure(Bytes bytes) {
    const std::vector<Candidate> candidates = candidates_for(bytes);
    std::vector<std::vector<double>> samples(candidates.size());
    std::vector<std::size_t> order(candidates.size());
    for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
    std::minstd_rand random(7);
    for (const auto& c : candidates) c.second(), c.second();
    const std::int64_t begin = now_ns();
    int more = 1, rejected = 0;
    for (int round = 0; more != 0; ++round) {
      std::ranges::shuffle(order, random);
      for (const std::size_t c : order) {
        if (s_.rewritten || s_.in_place) rewrite(bytes, round);
        const double us = clock_.time(candidates[c].second, bytes > 1 << 20 ? 20000 : 1500);
        if (us >= 0) samples[c].push_back(us);
        if (us < 0) ++rejected;
      }
      if (round % 8 != 7 && bytes < 1 << 20) continue;
      more = static_cast<double>(now_ns() - begin) < s_.seconds * 1e9 && round < 20000 ? 1 : 0;
      if (round < 6) more = 1;
      MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (comm_.rank() == 0) print(bytes, candidates, samples, rejected);
  }

 private:
  using Candidate = std::pair<std::string, std::function<void()>>;

  std::vector<Candidate> candidates_for(Bytes bytes) {
    const auto dtype = s_.bf16 ? attune::DType::bf16 : attune::DType::f32;
    const Index count = bytes / attune::size_of(dtype);
    std::vector<Candidate> candidates;
    candidates.emplace_back("mpi", [&, count] {
      MPI_Allreduce(s_.in_place ? MPI_IN_PLACE : in_, out_, static_cast<int>(count), s_.bf16 ? MPI_UINT16_T : MPI_FLOAT,
                    MPI_SUM, MPI_COMM_WORLD);
    });
    for (const auto& name : s_.plans) {
      if (name == "memcpy") {
        candidates.emplace_back(name, [&, bytes] { std::memcpy(out_, in_, static_cast<std::size_t>(bytes)); });
      } else if (name == "floor") {
        candidates.emplace_back(name, [&, bytes] { stream_copy(out_, in_, bytes); });
      } else if (name == "auto") {
        candidates.emplace_back(name, [&, count, dtype] { comm_.allreduce(in_, out_, count, dtype, attune::Op::sum); });
      } else {
        attune::Plan plan{.variant = name.substr(0, name.find(':'))};
        if (name.find(':') != name.npos) plan.chunk_bytes = parse_size(name.substr(name.find(':') + 1));
        candidates.emplace_back(
            name, [&, count, dtype, plan] { comm_.allreduce(in_, out_, count, dtype, attune::Op::sum, plan); });
      }
    }
    return candidates;
  }

  static void print(Bytes bytes, const std::vector<Candidate>& candidates,
                    const std::vector<std::vector<double>>& samples, int rejected) {
    const double vendor = quantile(samples[0], 0.5);
    std::string line =
        fmt::format("{:>10} n={:<5} rej={:<5} mpi {:9.2f} |", bytes, samples[0].size(), rejected, vendor);
    for (std::size_t c = 1; c < candidates.size(); ++c) {
      const double median = quantile(samples[c], 0.5);
      line += fmt::format(" {} {:.2f} ({:.2f}x)", candidates[c].first, median, vendor / median);
    }
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  void rewrite(Bytes bytes, int round) {
    auto* words = reinterpret_cast<std::uint32_t*>(in_);
    const auto value = static_cast<std::uint32_t>(round & 7);
    for (Bytes i = 0; i < bytes / 4; ++i) words[i] = 0x3F803F80U + value;
  }
  const Settings& s_;
  attune::Communicator comm_;
  Clock clock_;
  std::byte* in_ = nullptr;
  std::byte* out_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Settings settings = read(argc, argv);
  {
    Measurement measurement(settings);
    for (const Bytes bytes : settings.sizes) measurement.measure(bytes);
  }
  MPI_Finalize();
}
