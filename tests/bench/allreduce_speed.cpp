/// Measures allreduce plans against MPI_Allreduce and against copying, call by call in turn:
///   mpirun -n 2 allreduce_speed [--sizes 8,8K,1M] [--cache hot|rewritten] [--memory registered|staged] [--in-place]
///                               [--dtype f32|bf16] [--seconds 0.3] [--plans auto,two_shot_write:256K] [--csv FILE]
///                               [--stores tried|past|through]
/// One line per size: of each candidate the median of (last end - common start) in µs, and the median of the vendor's
/// time over its own in the same turn. Plans: `auto` is the table's choice; `bf16` the same bytes as bf16, `bf16_half`
/// the same count; `memcpy` copies in to out on all ranks at once; `floor` does it with stores past the cache;
/// `past` and `through` are `auto` with stores fixed that way (staged memory only, in one run; --stores fixes
/// `auto`'s); `bound_NAME` is an exchange of two ranks by hand (bound.h) and left out where it does not take the size.
/// The vendor's column of bf16 is its sum of 16-bit integers. A turn with an involuntary context switch or a late start
/// on any rank is dropped where enough others are left; with more ranks than cores none is, and a sample is the mean of
/// several calls in a row. The file gets one line per size and candidate, with a 99 % interval of the ratio.
#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "attune/attune.hpp"
#if defined(__x86_64__)
#include "bound.h"
#endif

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
  explicit Clock(MPI_Comm comm) {
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

  [[nodiscard]] bool crowded() const { return crowded_; }

  /// One timed call: µs from the common start to the last end, negative when the sample is spoilt.
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
    const long forgiven = static_cast<long>((mine.end_ns - start) / 10000000);  // housekeeping in long calls
    mine.spoilt = !crowded_ && (late || involuntary_switches() - switches > forgiven);
    mine.done.store(turn_, std::memory_order_release);
    std::int64_t last = 0;
    bool spoilt = false;
    for (int r = 0; r < ranks_; ++r) {
      auto& theirs = meeting_->place[static_cast<std::size_t>(r)];
      await(theirs.done);
      last = std::max(last, theirs.end_ns);
      spoilt = spoilt || theirs.spoilt;
    }
    const double us = static_cast<double>(last - start) / 1000;
    return spoilt ? -us : us;
  }

 private:
  void await(const std::atomic<std::uint32_t>& flag) const {
    for (unsigned spin = 1; flag.load(std::memory_order_acquire) < turn_; ++spin)
      if (crowded_ || spin % 4096 == 0) ::sched_yield();
  }
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
  std::string csv;
  bool rewritten = false, staged = false, in_place = false, bf16 = false;
  double seconds = 0.3;
  attune::Stores stores = attune::Stores::tried;
};

Settings read(int argc, char** argv) {
  Settings s;
  for (Bytes b = 8; b <= 128 << 20; b *= 4) s.sizes.push_back(b);
  s.sizes.push_back(Bytes{256} << 20);
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
    if (key == "--stores")
      s.stores = value == "past"      ? attune::Stores::past_cache
                 : value == "through" ? attune::Stores::through_cache
                                      : attune::Stores::tried;
    if (key == "--plans") s.plans = split(value);
    if (key == "--csv") s.csv = value;
    if (key != "--sizes") continue;
    s.sizes.clear();
    for (const auto& word : split(value)) s.sizes.push_back(parse_size(word));
  }
  return s;
}

/// A median and its 99 % interval, by order statistics.
struct Middle {
  double median = -1, low = -1, high = -1;
};
Middle middle_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  const auto last = static_cast<double>(samples.size() - 1);
  const auto at = [&](double place) { return samples[static_cast<std::size_t>(std::clamp(place, 0.0, last))]; };
  const double reach = 1.288 * std::sqrt(last + 1);
  return {at(last / 2), at(std::floor(last / 2 - reach)), at(std::ceil(last / 2 + reach))};
}

/// The times of all candidates, turn by turn; negative where spoilt.
using Turns = std::vector<std::vector<double>>;

/// The middle of value(turn) over the turns in which `good` holds; over all turns where these are too few.
template <class Good, class Value>
Middle middle_over(const Turns& turns, Good good, Value value) {
  std::vector<double> chosen, all;
  for (const auto& turn : turns) {
    all.push_back(value(turn));
    if (good(turn)) chosen.push_back(all.back());
  }
  return middle_of(chosen.size() < std::min<std::size_t>(8, all.size()) ? all : chosen);
}
Middle times_of(const Turns& turns, std::size_t c) {
  return middle_over(
      turns, [c](const auto& turn) { return turn[c] > 0; }, [c](const auto& turn) { return std::abs(turn[c]); });
}
/// The vendor's time (candidate 0) over this one's in the same turn.
Middle ratios_of(const Turns& turns, std::size_t c) {
  return middle_over(
      turns, [c](const auto& turn) { return turn[0] > 0 && turn[c] > 0; },
      [c](const auto& turn) { return std::abs(turn[0] / turn[c]); });
}

class Measurement {
 public:
  Measurement(const Settings& s) : s_(s), comm_(MPI_COMM_WORLD, {.stores = s.stores}), clock_(MPI_COMM_WORLD) {
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
    std::vector<std::size_t> order(candidates.size());
    for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
    const int calls = !clock_.crowded() ? 1 : bytes <= 64 * 1024 ? 16 : 2;
    std::minstd_rand random(7);
    for (const auto& c : candidates) c.call(), c.call();
    Turns turns;
    const std::int64_t begin = now_ns();
    for (int more = 1; more != 0;) {
      std::ranges::shuffle(order, random);
      auto& turn = turns.emplace_back(candidates.size());
      for (const std::size_t c : order) {
        if (s_.rewritten || s_.in_place) rewrite(candidates[c].input, bytes, static_cast<int>(turns.size()));
        const auto run = [&] {
          for (int k = 0; k < calls; ++k) candidates[c].call();
        };
        turn[c] = clock_.time(run, bytes > 1 << 20 ? 20000 : 1500) / calls;
      }
      if (turns.size() % 8 != 0 && bytes < 1 << 20) continue;
      more = static_cast<double>(now_ns() - begin) < s_.seconds * 1e9 && turns.size() < 20000 ? 1 : 0;
      if (turns.size() < 6) more = 1;
      MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (comm_.rank() == 0) print(bytes, candidates, turns);
  }

 private:
  struct Candidate {
    std::string name;
    std::function<void()> call;
    std::byte* input;
  };

  std::vector<Candidate> candidates_for(Bytes bytes) {
    const auto dtype = s_.bf16 ? attune::DType::bf16 : attune::DType::f32;
    const Index count = bytes / attune::size_of(dtype);
    std::vector<Candidate> candidates;
    const auto add = [&](const std::string& name, std::function<void()> call) {
      candidates.push_back({name, std::move(call), in_});
    };
    add("mpi", [&, count] {
      MPI_Allreduce(s_.in_place ? MPI_IN_PLACE : in_, out_, static_cast<int>(count), s_.bf16 ? MPI_UINT16_T : MPI_FLOAT,
                    MPI_SUM, MPI_COMM_WORLD);
    });
    for (const auto& name : s_.plans) {
      if (name == "memcpy") {
        add(name, [&, bytes] { std::memcpy(out_, in_, static_cast<std::size_t>(bytes)); });
      } else if (name == "floor") {
        add(name, [&, bytes] { stream_copy(out_, in_, bytes); });
      } else if (name == "bf16" || name == "bf16_half") {
        const Index halves = bytes / (name == "bf16" ? 2 : 4);
        add(name, [&, halves] { comm_.allreduce(in_, out_, halves, attune::DType::bf16, attune::Op::sum); });
      } else if (name.starts_with("bound_")) {
        add_bound(candidates, name, bytes);
      } else if (name == "past" || name == "through") {
        auto& comm = name == "past" ? past_ : through_;
        add(name, [&comm, this, count, dtype] { comm.allreduce(in_, out_, count, dtype, attune::Op::sum); });
      } else if (name == "auto") {
        add(name, [&, count, dtype] { comm_.allreduce(in_, out_, count, dtype, attune::Op::sum); });
      } else {
        attune::Plan plan{.variant = name.substr(0, name.find(':'))};
        if (name.find(':') != name.npos) plan.chunk_bytes = parse_size(name.substr(name.find(':') + 1));
        add(name, [&, count, dtype, plan] { comm_.allreduce(in_, out_, count, dtype, attune::Op::sum, plan); });
      }
    }
    return candidates;
  }

  void add_bound([[maybe_unused]] std::vector<Candidate>& candidates, [[maybe_unused]] const std::string& name,
                 [[maybe_unused]] Bytes bytes) {
#if defined(__x86_64__)
    if (comm_.size() != 2 || !__builtin_cpu_supports("avx2")) return;
    if (!bound_) bound_ = std::make_unique<attune::bench::Bound>(MPI_COMM_WORLD, *std::ranges::max_element(s_.sizes));
    if (auto call = bound_->named(name, bytes)) candidates.push_back({name, std::move(call), bound_->input()});
#endif
  }

  void print(Bytes bytes, const std::vector<Candidate>& candidates, const Turns& turns) const {
    fmt::print("{:>10} n={:<5} mpi {:9.2f} |", bytes, turns.size(), times_of(turns, 0).median);
    for (std::size_t c = 1; c < candidates.size(); ++c)
      fmt::print(" {} {:.2f} ({:.2f}x)", candidates[c].name, times_of(turns, c).median, ratios_of(turns, c).median);
    fmt::print("\n");
    std::fflush(stdout);
    if (s_.csv.empty()) return;
    const bool fresh = !std::ifstream(s_.csv).good();
    std::ofstream file(s_.csv, std::ios::app);
    if (fresh) file << "ranks,memory,cache,dtype,bytes,candidate,median_us,vendor_over_it,ratio_low,ratio_high,turns\n";
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const Middle time = times_of(turns, c), ratio = ratios_of(turns, c);
      file << fmt::format("{},{},{},{},{},{},{:.4f},{:.4f},{:.4f},{:.4f},{}\n", comm_.size(),
                          s_.staged ? "staged" : "registered", s_.rewritten ? "rewritten" : "hot",
                          s_.bf16 ? "bf16" : "f32", bytes, candidates[c].name, time.median, ratio.median, ratio.low,
                          ratio.high, turns.size());
    }
  }

  static void rewrite(std::byte* input, Bytes bytes, int round) {
    auto* words = reinterpret_cast<std::uint32_t*>(input);
    const auto value = static_cast<std::uint32_t>(round & 7);
    for (Bytes i = 0; i < bytes / 4; ++i) words[i] = 0x3F803F80U + value;
  }
  const Settings& s_;
  attune::Communicator comm_;
  attune::Communicator past_{MPI_COMM_WORLD, {.stores = attune::Stores::past_cache}};  ///< For staged memory.
  attune::Communicator through_{MPI_COMM_WORLD, {.stores = attune::Stores::through_cache}};
  Clock clock_;
  std::byte* in_ = nullptr;
  std::byte* out_ = nullptr;
#if defined(__x86_64__)
  std::unique_ptr<attune::bench::Bound> bound_;
#endif
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
