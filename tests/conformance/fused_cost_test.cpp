/// The cost cards of the fused kernels are what their ranks move, to the byte. Counts do not depend on the data, so the
/// ranks run one after the other on a block whose flags only count.
#include <gtest/gtest.h>

#include <vector>

#include "device/host_block.h"
#include "device/rms_norm.h"
#include "variants/registry.h"

namespace attune {
namespace {

using Isa = host::isa::baseline;

/// A view that counts what passes.
template <class T>
struct CountedView {
  host::View<T, host::Role::scratch> inner;
  Bytes* reads;
  Bytes* writes;
  [[nodiscard]] CountedView from(Index first) const { return {inner.from(first), reads, writes}; }
  template <class I>
  auto load(const I& i) const {
    *reads += i.lanes * static_cast<Bytes>(sizeof(T));
    return inner.load(i);
  }
  template <class I, class P>
  void store(const I& i, const P& pack) const {
    *writes += i.lanes * static_cast<Bytes>(sizeof(T));
    inner.store(i, pack);
  }
};

template <class T>
struct CountingBlock {
  Cost& cost;
  template <int Ranks>
  void barrier(const Team<Ranks>& /*team*/) {
    ++cost.barriers;
  }
  template <class F>
  void for_each_row(Span rows, Index cols, F f) const {
    for (Index row = rows.first; row < rows.end(); ++row) f(Span{row * cols, cols});
  }
  template <class F>
  void for_each_pack(Span span, F f) const {
    constexpr Index lanes = host_lanes<T>;
    Index first = span.first;
    for (; span.end() - first >= lanes; first += lanes) f(host::Full<Isa, T, false>{first, false});
    if (first < span.end()) f(host::Tail<Isa, T>{first, static_cast<int>(span.end() - first)});
  }
  template <class F>
  double sum_of(Span span, F f) const {
    for_each_pack(span, [&](auto i) { f(i); });
    return 1;
  }
};

template <class T>
struct CountedRows {
  Cost& cost;
  int rank;
  Index columns;
  Span owned;
  std::vector<T>& in_data;
  std::vector<T>& out_data;
  [[nodiscard]] Span mine() const { return owned; }
  [[nodiscard]] Index cols() const { return columns; }
  [[nodiscard]] auto in(int r) const { return view(in_data, r); }
  [[nodiscard]] auto sum(int r) const { return view(out_data, r); }
  [[nodiscard]] auto normalised(int r) const { return view(out_data, r); }
  template <class P>
  auto with_residual(const auto& i, const P& sum) const {
    return narrow<T>(Sum{}(sum, widen(view(in_data, rank).load(i))));
  }
  [[nodiscard]] CountedView<T> view(std::vector<T>& data, int r) const {
    return r == rank ? CountedView<T>{{data.data()}, &cost.local_reads, &cost.local_writes}
                     : CountedView<T>{{data.data()}, &cost.peer_reads, &cost.peer_writes};
  }
};

template <class V>
Cost moved(int ranks, Index rows, Index cols) {
  using T = bf16;
  Cost cost;
  std::vector<T> in(static_cast<std::size_t>(rows * cols + 64)), out(in.size());
  for (int rank = 0; rank < ranks; ++rank) {
    cost.barriers = 0;  // each rank passes as many
    CountingBlock<T> block{cost};
    const CountedRows<T> all{cost, rank, cols, part_of({0, rows}, rank, ranks, 1), in, out};
    const auto norm_of = [&](Span row, double) {
      return [&, gamma = all.view(in, rank).from(row.first)](const auto& i, const auto& sum) {
        return narrow<T>(Prod{}(sum, widen(gamma.load(i))));
      };
    };
    V::template run<0, T>(block, Team<0>(rank, ranks), all, norm_of);
  }
  return cost;
}

template <class... V>
void expect_cards(TypeList<V...>) {
  const auto expect = [](std::string_view name, Cost card, const Cost& seen, const std::string& where) {
    card.rounds = seen.rounds;
    EXPECT_EQ(card, seen) << name << " " << where << ": peer " << seen.peer_reads << " / " << seen.peer_writes
                          << ", local " << seen.local_reads << " / " << seen.local_writes;
  };
  for (int ranks = 2; ranks <= max_ranks; ++ranks)
    for (const Index rows : {1, 5, 8, 33})
      for (const Index cols : {1, 31, 64, 129}) {
        const std::string where = std::to_string(rows) + "x" + std::to_string(cols) + " ranks " + std::to_string(ranks);
        (expect(variant_name<V>, V::cost(ranks, rows * cols * 2), moved<V>(ranks, rows, cols), where), ...);
      }
}

TEST(FusedCostCards, AreWhatIsMoved) { expect_cards(FusedVariants{}); }

}  // namespace
}  // namespace attune
