#pragma once
/// A block on host: flags, barriers, and the loop over packs.
#include "device/host.h"
#include "device/host_launch.h"

#if defined(__x86_64__) || defined(__i386__)
#include <emmintrin.h>
#endif

namespace attune::host {

namespace detail {
/// Polls without a pause between them: a pause takes a quarter of the time that a line takes between two cores.
inline constexpr int eager_spins = 100;
/// Bytes of a share from which on it pays to send it past the cache, and to wait until it has got there.
inline constexpr std::size_t least_sent = 1024;
ATTUNE_DEVICE void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
/// Fetches a line that this core is going to write.
ATTUNE_DEVICE void fetch_for_writing([[maybe_unused]] const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#endif
}
/// Stores that went past the cache are not ordered by a release: order them before a flag is raised.
ATTUNE_DEVICE void drain_streaming_stores() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}
}  // namespace detail

/// One block of one launch, working on elements of type T with the registers of Isa. Kernels that may store outputs
/// past the cache say so (`Streams`).
template <class Isa, class T, bool Streams = true>
class Block {
 public:
  static constexpr bool has_multimem = true;  ///< Emulated, for tests.

  ATTUNE_DEVICE Block(const Launch& launch, int index)
      : launch_(launch), index_(index), counters_(launch.counters->block[static_cast<std::size_t>(index)]) {
    at_.scratch = launch.scratch;
    at_.inbox = launch.inbox;
    if (launch.known_inputs != nullptr) at_.in = *launch.known_inputs;
    if (launch.known_inputs == nullptr) at_.in[static_cast<std::size_t>(launch.rank)] = launch.local_in;
    at_.out[static_cast<std::size_t>(launch.rank)] = launch.local_out;
    at_.second_out[static_cast<std::size_t>(launch.rank)] = launch.local_second_out;
  }

  [[nodiscard]] ATTUNE_DEVICE const Addresses& addresses() const { return at_; }
  [[nodiscard]] ATTUNE_DEVICE int index() const { return index_; }

  /// My block's share of a span, in whole packs; may be empty.
  [[nodiscard]] ATTUNE_DEVICE Span share_of(Span span) const {
    return launch_.blocks == 1 ? span : part_of(span, index_, launch_.blocks);
  }
  /// Rank `rank`'s shard of a message of `count` elements, in whole packs; may be empty.
  [[nodiscard]] ATTUNE_DEVICE static Span shard_of(Index count, int rank, int ranks) {
    return part_of({0, count}, rank, ranks);
  }

  /// Part `which` of `parts` of a span, in whole packs; may be empty.
  [[nodiscard]] ATTUNE_DEVICE static Span part_of(Span span, int which, int parts) {
    return attune::part_of(span, which, parts, host_lanes<T>);
  }
  /// Elements of the largest shard, in whole packs: the stride of slots that hold one shard each.
  [[nodiscard]] ATTUNE_DEVICE static Index slot_of(Index count, int ranks) {
    return largest_part(count, ranks, host_lanes<T>);
  }

  /// Raises my flag at `peer`. Release: what this block wrote before is visible to whoever sees it.
  ATTUNE_DEVICE void notify(int peer) {
    if (launch_.streaming) detail::drain_streaming_stores();
    raise(peer);
  }

  /// Waits for the next notification of `peer`. Acquire. The first wait of a launch learns where the peer's
  /// buffers are. Throws as wait_slow does.
  ATTUNE_DEVICE void wait(int peer) {
    const auto from = static_cast<std::size_t>(peer);
    FlagLine& line = pad(launch_.rank).line[static_cast<std::size_t>(index_)][from];
    const Epoch expected = ++counters_.expected[from];
    bool arrived = false;
    for (int spin = 0; spin < launch_.policy.spins; ++spin) {
      arrived = reached(line.epoch.load(std::memory_order_acquire), expected);
      if (arrived) break;
      if (spin > detail::eager_spins) detail::pause();
    }
    if (!arrived) wait_slow(launch_, line.epoch, expected, index_, peer);
    if (at_.in[from] == nullptr) meet(peer, line);
  }

  /// Orders what was sent before the next flag that I raise. The flags of a launch that streams do so by themselves.
  ATTUNE_DEVICE static void drain() { detail::drain_streaming_stores(); }

  /// notify(to), then wait(from).
  ATTUNE_DEVICE void handshake(int to, int from) {
    notify(to);
    wait(from);
  }

  /// Every block of this index on every rank has come here; what they wrote before is visible. All ranks call it.
  template <int Ranks>
  ATTUNE_DEVICE void barrier(const Team<Ranks>& team) {
    if (launch_.streaming) detail::drain_streaming_stores();
    for_each_peer(
        team, [this](int peer) __attribute__((always_inline)) { raise(peer); });
    for_each_peer(
        team, [this](int peer) __attribute__((always_inline)) { wait(peer); });
  }

  /// Sends my share of my input to every peer's mailbox, the flag with the data: nothing comes before, not even a
  /// barrier. Release. An empty share sends the flag alone. Whoever posts also takes, in the same launch.
  template <int Ranks>
  ATTUNE_DEVICE void post(const Team<Ranks>& team, const Buffers<T>& buffers, Span share) {
    const auto mine = buffers.in(team.rank);
    if (fits_in_line(buffers)) {
      for_each_peer(
          team, [&](int peer) __attribute__((always_inline)) {
            std::memcpy(mail_line(peer, team.rank).payload.data(), mine.data, bytes_of(share));
          });
    } else {
      const bool past_cache = launch_.sends_past_cache && bytes_of(share) >= detail::least_sent;
      for_each_pack(
          share, [&](auto i) __attribute__((always_inline)) {
            const auto pack = mine.load(i);
            for_each_peer(
                team, [&](int peer) __attribute__((always_inline)) {
                  const auto body = mail_body(peer, team.rank);
                  past_cache ? body.send(i, pack) : body.store(i, pack);
                });
          });
      if (past_cache) drain();
    }
    for_each_peer(
        team, [&](int peer) __attribute__((always_inline)) {
          MailLine& line = mail_line(peer, team.rank);
          line.digest = launch_.digest;
          line.call.store(launch_.mail_call, std::memory_order_release);
        });
  }

  /// Waits until every peer's block of my index has posted. Acquire. Throws as wait_slow does. The lines that the next
  /// call will post in are fetched meanwhile.
  template <int Ranks>
  [[nodiscard]] ATTUNE_DEVICE Letters<T> take(const Team<Ranks>& team, const Buffers<T>& buffers) {
    const bool in_line = fits_in_line(buffers);
    Letters<T> letters;
    letters.at[static_cast<std::size_t>(team.rank)] = buffers.in(team.rank).data;
    for_each_peer(
        team, [&](int peer) __attribute__((always_inline)) {
          MailLine& line = mail_line(team.rank, peer);
          await_mail(line, peer);
          letters.at[static_cast<std::size_t>(peer)] =
              in_line ? reinterpret_cast<T*>(line.payload.data()) : mail_body(team.rank, peer).data;
          detail::fetch_for_writing(
              &mailbox(peer, team.rank, launch_.mail_call + 1).line[static_cast<std::size_t>(index_)]);
        });
    return letters;
  }

  /// Calls f(i) for every pack of a span that starts on a pack boundary: whole packs with a constant width, then at
  /// most one tail. An empty span calls nothing. `f` must not throw.
  template <class F>
  ATTUNE_DEVICE void for_each_pack(Span span, F f) const {
    if constexpr (Streams) {
      if (launch_.streaming) return walk<true>(span, true, f);
    }
    walk<false>(span, launch_.sends_past_cache, f);
  }

  /// to[i] = from[i] for every pack of a span.
  ATTUNE_DEVICE void copy(Span span, auto from, auto to) const {
    for_each_pack(
        span, [=](auto i) __attribute__((always_inline)) { to.store(i, from.load(i)); });
  }

  /// Calls f(row) for every row of my block's part of `rows`, as the span of its `cols` elements. Rows need not begin
  /// on a pack boundary; each may end in a tail.
  template <class F>
  ATTUNE_DEVICE void for_each_row(Span rows, Index cols, F f) const {
    const Span mine = attune::part_of(rows, index_, launch_.blocks, 1);
    for (Index row = mine.first; row < mine.end(); ++row) f(Span{row * cols, cols});
  }

  /// The sum of f(i), a pack of accumulators, over the packs of a span and the lanes of a pack, in one fixed order.
  /// Lanes behind the tail count: f gives 0 there, as it does for what a load has filled. An empty span gives 0.
  template <class F>
  [[nodiscard]] ATTUNE_DEVICE double sum_of(Span span, F f) const {
    using P = HostPack<T, Isa::native>;
    Pack<Accumulator<T>, P::lanes_per_part, P::parts> sums{};
    const auto add = [&](auto i) __attribute__((always_inline)) { sums = Sum{}(sums, f(i)); };
    walk<false>(span, false, add);
    Accumulator<T> lane[P::lanes];
    std::memcpy(lane, sums.part, sizeof lane);
    double total = 0;
    for (const auto value : lane) total += static_cast<double>(value);
    return total;
  }

 private:
  [[nodiscard]] ATTUNE_DEVICE Pad& pad(int rank) const { return launch_.control[static_cast<std::size_t>(rank)]->pad; }

  [[nodiscard]] ATTUNE_DEVICE Mailbox& mailbox(int owner, int sender, std::uint64_t call) const {
    auto& mail = launch_.control[static_cast<std::size_t>(owner)]->mail;
    return mail.box[call & (mail_generations - 1)][static_cast<std::size_t>(sender)];
  }
  [[nodiscard]] ATTUNE_DEVICE Mailbox& mailbox(int owner, int sender) const {
    return mailbox(owner, sender, launch_.mail_call);
  }
  [[nodiscard]] ATTUNE_DEVICE MailLine& mail_line(int owner, int sender) const {
    return mailbox(owner, sender).line[static_cast<std::size_t>(index_)];
  }
  [[nodiscard]] ATTUNE_DEVICE View<T, Role::scratch> mail_body(int owner, int sender) const {
    return {reinterpret_cast<T*>(mailbox(owner, sender).body.data())};
  }
  [[nodiscard]] ATTUNE_DEVICE static std::size_t bytes_of(Span span) {
    return static_cast<std::size_t>(span.count) * sizeof(T);
  }
  /// A message this small is one pack, of block 0.
  [[nodiscard]] ATTUNE_DEVICE static bool fits_in_line(const Buffers<T>& buffers) {
    return bytes_of({0, buffers.count}) <= MailLine::capacity;
  }

  ATTUNE_DEVICE void await_mail(const MailLine& line, int peer) const {
    bool arrived = false;
    for (int spin = 0; spin < launch_.policy.spins; ++spin) {
      arrived = line.call.load(std::memory_order_acquire) == launch_.mail_call;
      if (arrived) break;
      if (spin > detail::eager_spins) detail::pause();
    }
    if (!arrived) wait_for_mail(launch_, line.call, index_, peer);
    if (line.digest != launch_.digest) refuse_mismatch(launch_, peer);
  }

  [[nodiscard]] ATTUNE_DEVICE std::uint32_t short_digest() const { return static_cast<std::uint32_t>(launch_.digest); }

  ATTUNE_DEVICE void raise(int peer) {
    const auto to = static_cast<std::size_t>(peer);
    FlagLine& line = pad(peer).line[static_cast<std::size_t>(index_)][static_cast<std::size_t>(launch_.rank)];
    if ((told_ >> peer & 1U) == 0) {
      told_ |= 1U << peer;
      LaunchRecord& record = line.record[launch_.number & 1U];
      record.in.store(launch_.in.word, std::memory_order_relaxed);
      record.out.store(launch_.out.word, std::memory_order_relaxed);
      record.second_out.store(launch_.second_out.word, std::memory_order_relaxed);
      line.digest[launch_.number & 1U].store(short_digest(), std::memory_order_relaxed);
    }
    line.epoch.store(++counters_.sent[to], std::memory_order_release);
  }

  /// The first word of a peer in this launch: it must be in the same call; then its buffers are known.
  ATTUNE_DEVICE void meet(int peer, const FlagLine& line) {
    const LaunchRecord& record = line.record[launch_.number & 1U];
    const auto theirs = line.digest[launch_.number & 1U].load(std::memory_order_relaxed);
    if (theirs != short_digest()) refuse_mismatch(launch_, peer);
    at_.in[static_cast<std::size_t>(peer)] = locate({record.in.load(std::memory_order_relaxed)}, peer);
    at_.out[static_cast<std::size_t>(peer)] = locate({record.out.load(std::memory_order_relaxed)}, peer);
    at_.second_out[static_cast<std::size_t>(peer)] = locate({record.second_out.load(std::memory_order_relaxed)}, peer);
  }
  [[nodiscard]] ATTUNE_DEVICE std::byte* locate(SymmetricAddress address, int peer) const {
    return launch_.segment[address.segment()][static_cast<std::size_t>(peer)] + address.offset();
  }

  template <bool Streaming, class F>
  ATTUNE_DEVICE static void walk(Span span, bool past_cache, const F& f) {
    constexpr Index lanes = host_lanes<T>;
    Index first = span.first;
    for (; span.end() - first >= lanes; first += lanes) f(Full<Isa, T, Streaming>{first, past_cache});
    if (first < span.end()) f(Tail<Isa, T>{first, static_cast<int>(span.end() - first)});
  }

  const Launch& launch_;
  int index_;
  unsigned told_ = 0;  ///< Peers that have my record of this launch.
  Counters::OfBlock& counters_;
  Addresses at_;
};

/// The op over all ranks' inputs (or letters) at position i, in rank order: the same bits wherever it is computed.
template <int Ranks, class B, class I, class O>
ATTUNE_DEVICE auto sum_over(const Team<Ranks>& team, const B& buffers, const I& i, O op) {
  auto sum = widen(buffers.in(0).load(i));
#pragma GCC unroll 8
  for (int rank = 1; rank < team.ranks; ++rank) sum = op(sum, widen(buffers.in(rank).load(i)));
  return sum;
}

}  // namespace attune::host
