#pragma once
/// A block of the SIMT device, as one of its threads sees it. Every word is called by all threads of the block; flags
/// are written and polled by thread p for peer p, with a block barrier before and behind, as a GPU kernel does it.
#include "device/simt.h"

namespace attune::simt {

template <class T>
class Block {
 public:
  using Element = T;
  static constexpr bool has_multimem = true;  ///< Emulated, for tests.
  Block(const Launch& launch, int index, int thread)
      : launch_(launch),
        index_(index),
        thread_(thread),
        counters_((*launch.counters)[static_cast<std::size_t>(index)]) {}

  /// The end of the launch: counters go back to memory.
  void finish() {
    sync();
    if (thread_ == 0) (*launch_.counters)[static_cast<std::size_t>(index_)] = counters_;
  }

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] Span share_of(Span span) const { return part_of(span, index_, launch_.blocks); }
  [[nodiscard]] static Span shard_of(Index count, int rank, int ranks) { return part_of({0, count}, rank, ranks); }
  [[nodiscard]] static Span part_of(Span span, int which, int parts) {
    return attune::part_of(span, which, parts, lanes_of<T>);
  }
  [[nodiscard]] static Index slot_of(Index count, int ranks) {
    return part_of({0, (count + lanes_of<T> - 1) / lanes_of<T> * lanes_of<T>}, 0, ranks).count;
  }

  void sync() { (*launch_.block)[static_cast<std::size_t>(index_)].sync(launch_.threads); }

  /// Release, of all threads' writes: the block barrier orders them before thread 0.
  void notify(int peer) {
    const Epoch now = ++counters_.sent[static_cast<std::size_t>(peer)];
    sync();
    if (thread_ == 0) flag(peer, launch_.rank).store(now, std::memory_order_release);
  }
  /// Acquire, for all threads: the block barrier hands on what thread 0 has seen.
  void wait(int peer) {
    const Epoch want = ++counters_.expected[static_cast<std::size_t>(peer)];
    if (thread_ == 0) await(peer, want);
    sync();
  }
  /// Orders what was sent before the next flag: notify and barrier do so by themselves here.
  void drain() const {}
  void handshake(int to, int from) {
    notify(to);
    wait(from);
  }
  template <int Ranks>
  void barrier(const Team<Ranks>& team) {
    for_each_peer(team, [&](int peer) {
      ++counters_.sent[static_cast<std::size_t>(peer)];
      ++counters_.expected[static_cast<std::size_t>(peer)];
    });
    sync();
    for (int peer = thread_; peer < team.ranks; peer += launch_.threads)
      if (peer != team.rank)
        flag(peer, launch_.rank).store(counters_.sent[static_cast<std::size_t>(peer)], std::memory_order_release);
    for (int peer = thread_; peer < team.ranks; peer += launch_.threads)
      if (peer != team.rank) await(peer, counters_.expected[static_cast<std::size_t>(peer)]);
    sync();
  }

  /// Packs go around the threads; the tail is the next thread's.
  template <class F>
  void for_each_pack(Span span, F f) const {
    constexpr Index lanes = lanes_of<T>;
    const bool aligned = span.first % lanes == 0;
    const Index packs = span.count / lanes;
    for (Index k = thread_; k * lanes < span.count; k += launch_.threads) {
      const Index first = span.first + k * lanes;
      if (aligned && k < packs) {
        f(Full<T>{first});
      } else {
        f(Tail<T>{first, static_cast<int>(span.end() - first < lanes ? span.end() - first : lanes)});
      }
    }
  }
  void copy(Span span, auto from, auto to) const {
    for_each_pack(span, [&](auto i) { to.store(i, from.load(i)); });
  }
  template <class F>
  void for_each_row(Span rows, Index cols, F f) const {
    const Span mine = attune::part_of(rows, index_, launch_.blocks, 1);
    for (Index row = mine.first; row < mine.end(); ++row) f(Span{row * cols, cols});
  }
  /// The same total on all threads.
  template <class F>
  [[nodiscard]] double sum_of(Span span, F f) {
    double mine = 0;
    for_each_pack(span, [&](auto i) {
      const auto pack = f(i);
      for (int lane = 0; lane < lanes_of<T>; ++lane) mine += static_cast<double>(pack.part[0][lane]);
    });
    auto& partial = (*launch_.block)[static_cast<std::size_t>(index_)].partial;
    partial[static_cast<std::size_t>(thread_)] = mine;
    sync();
    double total = 0;
    for (int thread = 0; thread < launch_.threads; ++thread) total += partial[static_cast<std::size_t>(thread)];
    sync();
    return total;
  }

  template <int Ranks, class B>
  void post(const Team<Ranks>& team, const B& buffers, Span share) {
    for_each_pack(share, [&](auto i) {
      const auto pack = buffers.in(team.rank).load(i);
      for_each_peer(team, [&](int peer) { mail(peer, team.rank).store(i, pack); });
    });
    raise_mail(team);
  }
  template <int Ranks, class B>
  [[nodiscard]] auto take(const Team<Ranks>& team, const B& buffers) {
    await_mail(team);
    Letters<View<T>> letters;
    for_each_rank(team, [&](int rank) {
      letters.at[static_cast<std::size_t>(rank)] = rank == team.rank ? buffers.in(rank) : mail(team.rank, rank);
    });
    return letters;
  }

  /// The two halves of mail, for devices built on this one.
  [[nodiscard]] View<T> mail(int owner, int sender) const {
    return {reinterpret_cast<T*>(mailbox(owner, sender).body.data())};
  }
  template <int Ranks>
  void raise_mail(const Team<Ranks>& team) {
    sync();
    for (int peer = thread_; peer < team.ranks; peer += launch_.threads)
      if (peer != team.rank) mail_flag(peer, team.rank).store(launch_.mail_call, std::memory_order_release);
  }
  template <int Ranks>
  void await_mail(const Team<Ranks>& team) {
    for (int peer = thread_; peer < team.ranks; peer += launch_.threads)
      if (peer != team.rank)
        poll([&] { return mail_flag(team.rank, peer).load(std::memory_order_acquire) == launch_.mail_call; }, "mail");
    sync();
  }

 private:
  [[nodiscard]] std::atomic<Epoch>& flag(int owner, int sender) const {
    return launch_.memory[static_cast<std::size_t>(owner)]
        ->flag[static_cast<std::size_t>(index_)][static_cast<std::size_t>(sender)];
  }
  [[nodiscard]] Memory::Mailbox& mailbox(int owner, int sender) const {
    return launch_.memory[static_cast<std::size_t>(owner)]
        ->mail[launch_.mail_call & 1U][static_cast<std::size_t>(sender)];
  }
  [[nodiscard]] std::atomic<Epoch>& mail_flag(int owner, int sender) const {
    return mailbox(owner, sender).call[static_cast<std::size_t>(index_)];
  }
  void await(int peer, Epoch want) const {
    poll([&] { return reached(flag(launch_.rank, peer).load(std::memory_order_acquire), want); }, "a peer's flag");
  }

  const Launch& launch_;
  int index_;
  int thread_;
  Counters counters_;
};

}  // namespace attune::simt
