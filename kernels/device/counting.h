#pragma once
/// The counting device: the SIMT device whose views and flags are counted, to compare an algorithm with its cost card.
/// Rounds are found by data flow: every pack of memory remembers how many remote steps lie behind it.
#include <algorithm>

#include "core/traits.h"
#include "device/simt_block.h"

namespace attune::counting {

/// How many remote steps lie behind each pack of one buffer.
struct Depths {
  const std::byte* base = nullptr;
  std::vector<int> of_pack;
};

/// What one rank has done; ranks are added up. Used by one thread at a time.
struct Tally {
  Cost cost;
  int depth = 0;     ///< Remote steps behind what the current pack has loaded.
  Bytes across = 0;  ///< Of what goes to and comes from peers: between domains.
};

/// A view that counts what passes: elements of type T, `Kept` in memory.
template <class T, class Inner = simt::View<T>, class Kept = T>
struct View {
  Inner inner{};
  Tally* tally = nullptr;
  Depths* depths = nullptr;
  bool peer = false;
  bool far = false;  ///< In another domain.

  [[nodiscard]] View from(Index first) const { return {inner.from(first), tally, depths, peer, far}; }
  template <class I>
  auto load(const I& i) const {
    (peer ? tally->cost.peer_reads : tally->cost.local_reads) += bytes_at(i);
    if (far) tally->across += bytes_at(i);
    tally->depth = std::max(tally->depth, depth_at(i) + (peer ? 1 : 0));
    tally->cost.rounds = std::max(tally->cost.rounds, tally->depth);
    return inner.load(i);
  }
  template <class I>
  void store(const I& i, const auto& pack) const {
    (peer ? tally->cost.peer_writes : tally->cost.local_writes) += bytes_at(i);
    if (far) tally->across += bytes_at(i);
    const int depth = tally->depth + (peer ? 1 : 0);
    depth_at(i) = depth;
    tally->cost.rounds = std::max(tally->cost.rounds, depth);
    inner.store(i, pack);
  }
  template <class I>
  void send(const I& i, const simt::SimtPack<T>& pack) const {
    store(i, pack);
  }

 private:
  template <class I>
  static Bytes bytes_at(const I& i) {
    return i.lanes * static_cast<Bytes>(sizeof(Kept));
  }
  template <class I>
  int& depth_at(const I& i) const {
    const auto* at = reinterpret_cast<const std::byte*>(inner.data + i.first);
    return depths->of_pack.at(static_cast<std::size_t>(at - depths->base) / simt::pack_bytes);
  }
};
template <class T>
using Partials = View<T, simt::Partials<T>, Accumulator<T>>;

/// The depths of all buffers of a team: [kind][rank]; mail is [kind][receiver * max_ranks + sender].
enum class Kind : std::uint8_t { in, out, scratch, inbox, mail };
using TeamDepths = std::array<std::array<Depths, max_ranks * max_ranks>, 5>;

template <class T>
struct Buffers {
  Index count;
  Index chunk;
  simt::Buffers<T> inner;
  int rank;
  int near;  ///< Ranks of a domain.
  Tally& tally;
  TeamDepths& depths;
  [[nodiscard]] View<T> in(int r) const { return wrap(inner.in(r), Kind::in, r); }
  [[nodiscard]] View<T> out(int r) const { return wrap(inner.out(r), Kind::out, r); }
  [[nodiscard]] View<T> scratch(int r) const { return wrap(inner.scratch(r), Kind::scratch, r); }
  [[nodiscard]] View<T> inbox(int r) const { return wrap(inner.inbox(r), Kind::inbox, r); }
  [[nodiscard]] Partials<T> partials(int r) const {
    auto& of_scratch = depths[static_cast<std::size_t>(Kind::scratch)][static_cast<std::size_t>(r)];
    return {inner.partials(r), &tally, &of_scratch, r != rank, is_far(r)};
  }

 private:
  [[nodiscard]] View<T> wrap(simt::View<T> view, Kind kind, int owner) const {
    return {view, &tally, &depths[static_cast<std::size_t>(kind)][static_cast<std::size_t>(owner)], owner != rank,
            is_far(owner)};
  }
  [[nodiscard]] bool is_far(int owner) const { return owner / near != rank / near; }
};
template <int Ranks, class T, class I, class O>
auto sum_over(const Team<Ranks>& team, const Buffers<T>& buffers, const I& i, O op) {
  return simt::sum_in_rank_order(team, buffers, i, op);
}

/// A block of one thread that counts. Flags are counted on block 0, as cost cards do.
template <class T>
class Block : public simt::Block<T> {
  using Base = simt::Block<T>;

 public:
  Block(const simt::Launch& launch, int index, Tally& tally, TeamDepths& depths)
      : Base(launch, index, 0), tally_(tally), depths_(depths), counts_flags_(index == 0) {}

  void notify(int peer) {
    if (counts_flags_) ++tally_.cost.notifies;
    Base::notify(peer);
  }
  void handshake(int to, int from) {
    notify(to);
    Base::wait(from);
  }
  template <int Ranks>
  void barrier(const Team<Ranks>& team) {
    if (counts_flags_) ++tally_.cost.barriers;
    Base::barrier(team);
  }
  template <class F>
  void for_each_pack(Span span, F f) const {
    Base::for_each_pack(span, [&](auto i) {
      tally_.depth = 0;
      f(i);
    });
  }
  void copy(Span span, auto from, auto to) const {
    for_each_pack(span, [&](auto i) { to.store(i, from.load(i)); });
  }
  template <int Ranks>
  void post(const Team<Ranks>& team, const Buffers<T>& buffers, Span share) {
    for_each_pack(share, [&](auto i) {
      const auto pack = buffers.in(team.rank).load(i);
      for_each_peer(team, [&](int peer) { letter(peer, team.rank, true).store(i, pack); });
    });
    if (counts_flags_) tally_.cost.notifies += team.ranks - 1;
    Base::raise_mail(team);
  }
  template <int Ranks>
  [[nodiscard]] auto take(const Team<Ranks>& team, const Buffers<T>& buffers) {
    Base::await_mail(team);
    simt::Letters<View<T>> letters;
    for_each_rank(team, [&](int rank) {
      letters.at[static_cast<std::size_t>(rank)] =
          rank == team.rank ? buffers.in(rank) : letter(team.rank, rank, false);
    });
    return letters;
  }

 private:
  [[nodiscard]] View<T> letter(int owner, int sender, bool peer) const {
    const auto which = static_cast<std::size_t>(owner * max_ranks + sender);
    return {Base::mail(owner, sender), &tally_, &depths_[static_cast<std::size_t>(Kind::mail)][which], peer};
  }

  Tally& tally_;
  TeamDepths& depths_;
  bool counts_flags_;
};

}  // namespace attune::counting
