#pragma once
/// In-band messages: every half line carries its flag, so the data is its own notification. A pack is two lines; an
/// element of the tail is a line of its own.
///
/// An empty share sends nothing: block 0 always has a share, and what it hears of a peer proves for the whole launch
/// that the peer has begun it, and so has finished with the generation before.
#include "device/cuda_any.cuh"
#include "device/cuda_wait.cuh"

namespace attune::cuda {

/// What one rank has posted to another.
struct MailView {
  Mailbox* box;
  std::uint32_t flag;

  template <class T>
  [[nodiscard]] ATTUNE_DEVICE MailLine* lines(const Full<T>& i) const {
    return box->body + (i.first * static_cast<Index>(sizeof(T)) >> 3);
  }
  template <class T>
  [[nodiscard]] ATTUNE_DEVICE MailLine* lines(const One<T>& i) const {
    return box->tail + (i.first & (lanes_of<T> - 1));
  }

  template <class T>
  ATTUNE_DEVICE void store(const Full<T>& i, const LanePack<T, lanes_of<T>>& pack) const {
    const Quad quad = std::bit_cast<Quad>(pack);
    MailLine* to = lines(i);
    store_line(to[0], quad.word[0], quad.word[1], flag);
    store_line(to[1], quad.word[2], quad.word[3], flag);
  }
  template <class T>
  ATTUNE_DEVICE void store(const One<T>& i, const LanePack<T, 1>& pack) const {
    std::uint64_t word = 0;
    std::memcpy(&word, pack.word, sizeof(T));
    store_line(*lines(i), static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32), flag);
  }
};

/// A letter that may not have come yet.
template <class T, int Lanes>
struct Letter {
  static constexpr int count = Lanes == 1 ? 1 : 2;
  MailLine line[count];

  ATTUNE_DEVICE void read(const MailLine* from) {
    ATTUNE_UNROLL
    for (int k = 0; k < count; ++k) line[k] = load_line(from[k]);
  }
  /// The flag of the half that is latest in coming: `flag` when all have come.
  [[nodiscard]] ATTUNE_DEVICE std::uint32_t seen(std::uint32_t flag) const {
    std::uint32_t result = flag;
    ATTUNE_UNROLL
    for (int k = 0; k < count; ++k) {
      if (line[k].flag0 != flag) result = line[k].flag0;
      if (line[k].flag1 != flag) result = line[k].flag1;
    }
    return result;
  }
  [[nodiscard]] ATTUNE_DEVICE LanePack<T, Lanes> pack() const {
    if constexpr (Lanes == 1) {
      const std::uint64_t word = std::uint64_t{line[0].data1} << 32 | line[0].data0;
      LanePack<T, 1> result;
      std::memcpy(result.word, &word, sizeof(T));
      return result;
    } else {
      return std::bit_cast<LanePack<T, Lanes>>(Quad{{line[0].data0, line[0].data1, line[1].data0, line[1].data1}});
    }
  }
};

/// A rank's message as a view, of which there is one per rank, all alike: sum_over looks into all messages at once, and
/// waits for them.
template <class T>
struct LetterView {
  const Launch* launch;
  BlockMemory* block;
  View<T> mine;
  std::uint32_t flag;

  [[nodiscard]] ATTUNE_DEVICE MailView mail(int sender) const {
    return {&launch->control[launch->rank]->mail.box[flag & (mail_generations - 1)][sender], flag};
  }
  /// What the sender was asked to do in this call; as I, when it has not come to this call.
  [[nodiscard]] ATTUNE_DEVICE std::uint64_t digest_of(int sender) const {
    const MailRecord& record = mail(sender).box->record[block_index()];
    return load_acquire(record.call) == flag ? record.digest : launch->digest;
  }
};

/// The messages of one in-band call, mine included.
template <class T>
struct Letters {
  LetterView<T> view;
  [[nodiscard]] ATTUNE_DEVICE LetterView<T> in(int /*rank*/) const { return view; }
};

/// The op over all ranks' letters at position i, in rank order. All lines are asked for at once, and again until all
/// have come.
template <int Ranks, class T, std::size_t N, class Position>
ATTUNE_DEVICE auto sum_over(const Team<Ranks>& team, const std::array<LetterView<T>, N>& views, const Position& i,
                            AnyOp op) {
  const LetterView<T> letters = views[0];
  constexpr int most = Ranks > 0 ? Ranks : max_ranks;
  LanePack<T, Position::lanes> pack[most];
  const auto read_all = [&](Awaited& missing) {
    Letter<T, Position::lanes> letter[most];
    ATTUNE_UNROLL
    for (int rank = 0; rank < most; ++rank)
      if (rank < team.ranks && rank != team.rank) letter[rank].read(letters.mail(rank).lines(i));
    missing.peer = -1;
    ATTUNE_UNROLL
    for (int rank = 0; rank < most; ++rank) {
      if (rank >= team.ranks || rank == team.rank) continue;
      if (letter[rank].seen(letters.flag) != letters.flag) missing.peer = rank;
      pack[rank] = letter[rank].pack();
    }
    return missing.peer < 0;
  };
  const auto mine = letters.mine.load(i);
  Awaited missing{-1, letters.flag, true};
  if (!read_all(missing)) {
    Patience patience(*letters.launch, *letters.block);
    while (!patience.ends(missing, letters.flag - 1, [&] { return letters.digest_of(missing.peer); }))
      if (read_all(missing)) break;
  }
  return fold_in_rank_order(
      team, [&](int rank) { return rank == team.rank ? mine : pack[rank]; }, op);
}

}  // namespace attune::cuda
