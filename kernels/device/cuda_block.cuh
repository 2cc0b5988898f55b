#pragma once
/// A block of the cuda device, as one of its threads sees it. Every word is called by all threads of the block. Thread
/// r speaks with rank r: it counts that pair's notifications in its registers, writes its flag and polls the other.
///
/// No thread leaves a word early. After a failure waits do not wait and loops over packs have no packs, but every block
/// barrier is still passed by all.
#include "device/cuda_mail.cuh"

namespace attune::cuda {

template <class T>
class Block {
 public:
  static constexpr bool has_multimem = true;

  ATTUNE_DEVICE Block(const Launch& launch, BlockMemory& memory)
      : launch_(launch), memory_(memory), thread_(thread_index()), index_(block_index()) {
    if (thread_ < launch.ranks) {
      memory.in[thread_] = launch.at.in.at[thread_];
      memory.out[thread_] = launch.at.out.at[thread_];
      memory.second_out[thread_] = launch.at.second_out.at[thread_];
    }
    if (launch.counters != nullptr && thread_ < max_ranks) {
      const Counters::OfBlock& mine = launch.counters->block[index_];
      sent_ = mine.sent[thread_];
      expected_ = mine.expected[thread_];
      record_ = mine.launches & 1U;
    }
    if (thread_ == 0) memory.failed = launch.counters != nullptr ? load_relaxed(launch.counters->failed) : 0;
    sync_block();
  }

  /// The end of the launch: counts go back to memory.
  ATTUNE_DEVICE void finish() {
    sync_block();
    if (launch_.counters == nullptr) return;
    Counters::OfBlock& mine = launch_.counters->block[index_];
    if (thread_ < max_ranks) {
      mine.sent[thread_] = sent_;
      mine.expected[thread_] = expected_;
    }
    if (thread_ == 0) ++mine.launches;
    if (failed() && launch_.trap_on_failure) {
      fence_system();
      trap();
    }
  }

  [[nodiscard]] ATTUNE_DEVICE int index() const { return index_; }

  /// My block's share of a span, in whole packs; may be empty.
  [[nodiscard]] ATTUNE_DEVICE Span share_of(Span span) const { return part_of(span, index_, launch_.blocks); }
  /// Rank `rank`'s shard of a message of `count` elements, in whole packs; may be empty.
  [[nodiscard]] ATTUNE_DEVICE static Span shard_of(Index count, int rank, int ranks) {
    return part_of({0, count}, rank, ranks);
  }
  /// Part `which` of `parts` of a span, in whole packs; may be empty.
  [[nodiscard]] ATTUNE_DEVICE static Span part_of(Span span, int which, int parts) {
    return attune::part_of(span, which, parts, lanes_of<T>);
  }
  /// Elements of the largest shard, in whole packs: the stride of slots that hold one shard each.
  [[nodiscard]] ATTUNE_DEVICE static Index slot_of(Index count, int ranks) {
    return largest_part(count, ranks, lanes_of<T>);
  }

  /// What was sent is ordered before flags: here by the flags' own release.
  ATTUNE_DEVICE void drain() const {}

  /// Raises my flag at `peer`. Release, of all threads' writes: the block barrier orders them before the flag.
  ATTUNE_DEVICE void notify(int peer) {
    sync_block();
    if (thread_ == peer) raise();
  }
  /// Waits for the next notification of `peer`. Acquire, for all threads: the block barrier hands on what one has seen.
  ATTUNE_DEVICE void wait(int peer) {
    if (thread_ == peer) await();
    sync_block();
  }
  /// notify(to), then wait(from).
  ATTUNE_DEVICE void handshake(int to, int from) {
    notify(to);
    wait(from);
  }
  /// Every block of this index on every rank has come here; what they wrote before is visible.
  template <int Ranks>
  ATTUNE_DEVICE void barrier(const Team<Ranks>& team) {
    const bool in_switch = launch_.multicast_in != nullptr || launch_.multicast_out != nullptr;
    if (in_switch) fence_aliases();
    sync_block();
    if (thread_ < team.ranks && thread_ != team.rank) {
      raise();
      await();
    }
    sync_block();
    if (in_switch) fence_aliases();
  }

  /// Calls f(i) for every pack of a span: whole packs go around the threads, so that a warp's are side by side; then
  /// element by element what is behind the last one, or all of a span that does not begin on a pack boundary.
  template <class F>
  ATTUNE_DEVICE void for_each_pack(Span span, F f) const {
    const Walk walk = walk_of(span);
    ATTUNE_NO_UNROLL
    for (Index first = walk.first; first < walk.whole_end; first += walk.step) f(Full<T>{first});
    ones(walk, f);
  }
  /// to[i] = from[i] for every pack of a span: four loads are on their way before the first store.
  ATTUNE_DEVICE void copy(Span span, View<T> from, View<T> to) const {
    constexpr int depth = 4;
    const Walk walk = walk_of(span);
    Index first = walk.first;
    ATTUNE_NO_UNROLL
    for (; first + (depth - 1) * walk.step < walk.whole_end; first += depth * walk.step) {
      LanePack<T, lanes_of<T>> pack[depth];
      ATTUNE_UNROLL
      for (int k = 0; k < depth; ++k) pack[k] = from.load(Full<T>{first + k * walk.step});
      ATTUNE_UNROLL
      for (int k = 0; k < depth; ++k) to.store(Full<T>{first + k * walk.step}, pack[k]);
    }
    ATTUNE_NO_UNROLL
    for (; first < walk.whole_end; first += walk.step) to.store(Full<T>{first}, from.load(Full<T>{first}));
    ones(walk, [&](auto i) { to.store(i, from.load(i)); });
  }

  /// Calls f(row) for every row of my block's part of `rows`, as the span of its `cols` elements.
  template <class F>
  ATTUNE_DEVICE void for_each_row(Span rows, Index cols, F f) {
    const Span mine = attune::part_of(rows, index_, launch_.blocks, 1);
    row_cols_ = cols;
    ATTUNE_NO_UNROLL
    for (Index row = mine.first; row < mine.end(); ++row) f(Span{row * cols, cols});
    row_cols_ = 0;
  }

  /// The sum over a span of f(i), a pack of accumulators: lanes, then threads of a warp, then warps, in one fixed
  /// order. The same total on all threads.
  template <class F>
  [[nodiscard]] ATTUNE_DEVICE double sum_of(Span span, F f) {
    LanePack<Accumulator<T>, lanes_of<T>> sums{};
    for_each_pack(span, [&](auto i) {
      const auto term = f(i);
      ATTUNE_UNROLL
      for (int k = 0; k < decltype(i)::lanes; ++k) sums.word[k] += term.get(k);
    });
    double mine = 0;
    ATTUNE_UNROLL
    for (int k = 0; k < lanes_of<T>; ++k) mine += static_cast<double>(sums.get(k));
    ATTUNE_UNROLL
    for (int distance = 16; distance > 0; distance >>= 1) mine += exchange_in_warp(mine, distance);
    if ((thread_ & 31) == 0) memory_.partial[thread_ >> 5] = mine;
    sync_block();
    double total = 0;
    ATTUNE_NO_UNROLL
    for (int warp = 0; warp < launch_.threads >> 5; ++warp) total += memory_.partial[warp];
    sync_block();
    return total;
  }

  /// Sends my share of my input to every peer's mailbox, each half line with its flag. Whoever posts also takes, in the
  /// same launch.
  template <int Ranks>
  ATTUNE_DEVICE void post(const Team<Ranks>& team, const Buffers<T>& buffers, Span share) {
    if (thread_ == 0) {
      const std::uint32_t last = load_relaxed(launch_.counters->mail_call);
      memory_.mail_call = last + 1 != 0 ? last + 1 : 2;  // 0 is an empty mailbox; generations go on alternating
    }
    sync_block();
    const std::uint32_t call = memory_.mail_call;
    const auto box = [&](int peer) {
      return &launch_.control[peer]->mail.box[call & (mail_generations - 1)][team.rank];
    };
    const auto mine = buffers.in(team.rank);
    for_each_pack(share, [&](auto i) {
      const auto pack = mine.load(i);
      for_each_peer(team, [&](int peer) { MailView{box(peer), call}.store(i, pack); });
    });
    if (thread_ < team.ranks && thread_ != team.rank && !failed()) {
      MailRecord& record = box(thread_)->record[index_];
      store_relaxed(record.digest, launch_.digest);
      store_release(record.call, call);
    }
  }

  /// Every peer's letters; whoever looks into one waits for it.
  template <int Ranks>
  [[nodiscard]] ATTUNE_DEVICE Letters<T> take(const Team<Ranks>&, const Buffers<T>& buffers) {
    const std::uint32_t call = memory_.mail_call;
    if (thread_ == 0) count_mail_call(call);
    return {{&launch_, &memory_, buffers.in(launch_.rank), call}};
  }

 private:
  /// My packs of a span, then my elements behind its last whole pack.
  struct Walk {
    Index first, whole_end, step;
    Index one, end, threads;
  };
  [[nodiscard]] ATTUNE_DEVICE Walk walk_of(Span span) const {
    constexpr Index lanes = lanes_of<T>;
    if (failed()) span.count = 0;
    const Index whole_end = span.first + (aligned(span.first) ? span.count & ~(lanes - 1) : 0);
    const Index threads = launch_.threads;
    return {span.first + thread_ * lanes, whole_end, threads * lanes, whole_end + thread_, span.end(), threads};
  }
  template <class F>
  ATTUNE_DEVICE static void ones(const Walk& walk, F f) {
    ATTUNE_NO_UNROLL
    for (Index first = walk.one; first < walk.end; first += walk.threads) f(One<T>{first});
  }

  [[nodiscard]] ATTUNE_DEVICE bool failed() const { return load_relaxed(memory_.failed) != 0; }

  [[nodiscard]] ATTUNE_DEVICE bool aligned(Index first) const { return ((first | row_cols_) & (lanes_of<T> - 1)) == 0; }

  /// The last block of the launch to have read the number advances it.
  ATTUNE_DEVICE void count_mail_call(std::uint32_t call) {
    DeviceWord<std::uint32_t> arrived(launch_.counters->mail_arrived);
    if (arrived.fetch_add(1, order_both) + 1 != static_cast<std::uint32_t>(launch_.blocks)) return;
    arrived.store(0, order_relaxed);
    store_relaxed(launch_.counters->mail_call, call);
  }

  ATTUNE_DEVICE void raise() {
    FlagLine& line = launch_.control[thread_]->pad.line[index_][launch_.rank];
    if (!told_) {
      told_ = true;
      line.record[record_] = {launch_.in.word, launch_.out.word, launch_.second_out.word, launch_.digest};
    }
    ++sent_;
    if (!failed()) store_release(line.epoch, sent_);
  }

  ATTUNE_DEVICE void await() {
    const FlagLine& line = launch_.control[launch_.rank]->pad.line[index_][thread_];
    const Epoch want = ++expected_;
    if (failed()) return;
    Epoch seen = load_acquire(line.epoch);
    if (!reached(seen, want)) {
      Patience patience(launch_, memory_);
      do {
        if (patience.ends(Awaited{thread_, want, false}, seen, [&] { return launch_.digest; })) return;
        seen = load_acquire(line.epoch);
      } while (!reached(seen, want));
    }
    if (!met_) meet(line, want);
  }

  /// The peer's record of this launch: is it in the same call, and where are its buffers?
  ATTUNE_DEVICE void meet(const FlagLine& line, Epoch seen) {
    met_ = true;
    const LaunchRecord& record = line.record[record_];
    if (record.digest != launch_.digest)
      return fail(launch_, memory_, FailureKind::mismatch, Awaited{thread_, seen, false}, seen, record.digest);
    const bool located = locate(memory_.in[thread_], record.in) && locate(memory_.out[thread_], record.out) &&
                         locate(memory_.second_out[thread_], record.second_out);
    if (!located) fail(launch_, memory_, FailureKind::unregistered, Awaited{thread_, seen, false}, seen, 0);
  }
  /// False: the record names a segment that is not mapped here.
  [[nodiscard]] ATTUNE_DEVICE bool locate(std::byte*& known, std::uint64_t word) const {
    if (known != nullptr || word == 0) return true;
    const SymmetricAddress address{word};
    std::byte* base = launch_.segment[address.segment()][thread_];
    known = base + address.offset();
    return base != nullptr;
  }

  const Launch& launch_;
  BlockMemory& memory_;
  int thread_;
  int index_;
  Index row_cols_ = 0;  ///< Not 0: packs of rows, whose views are shifted by rows.
  Epoch sent_ = 0;      ///< To rank thread_.
  Epoch expected_ = 0;  ///< From rank thread_.
  std::uint32_t record_ = 0;
  bool told_ = false;
  bool met_ = false;
};

}  // namespace attune::cuda
