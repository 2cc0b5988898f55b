#pragma once
/// The only division in the code base: spans are cut in whole packs, so that every cut but the last
/// one starts pack-aligned when the base is.
#include "core/annotations.h"
#include "core/types.h"

namespace attune {

/// A run of elements.
struct Span {
  Index first = 0;
  Index count = 0;
  [[nodiscard]] ATTUNE_BOTH constexpr Index end() const { return first + count; }
  friend constexpr bool operator==(const Span&, const Span&) = default;
};

/// Part `which` of `parts` of a span, cut in whole packs of `lanes` elements. Parts differ by at most one
/// pack, earlier parts are the larger ones, late parts may be empty.
[[nodiscard]] ATTUNE_BOTH constexpr Span part_of(Span span, int which, int parts, Index lanes) {
  const Index packs = (span.count + lanes - 1) / lanes;
  const Index base = packs / parts;
  const Index extra = packs % parts;
  const Index from = (which * base + (which < extra ? which : extra)) * lanes;
  const Index upto = from + (base + (which < extra ? 1 : 0)) * lanes;
  const Index first = from < span.count ? from : span.count;
  return {span.first + first, (upto < span.count ? upto : span.count) - first};
}

inline constexpr Bytes largest_pack = 64;  ///< Bytes of a pack on the device that has the largest ones.

/// Elements of the largest of `parts` parts, in whole packs.
[[nodiscard]] ATTUNE_BOTH constexpr Index largest_part(Index count, int parts, Index lanes) {
  const Index packs = (count + lanes - 1) / lanes;
  return (packs + parts - 1) / parts * lanes;
}

/// The pieces of at most `chunk` elements of a span, for `for (Span part : chunks_of(span, chunk))`. An empty span is
/// one empty piece: pipelines keep their handshakes, so that no rank finishes a launch that a peer has not begun.
class Chunks {
 public:
  ATTUNE_BOTH constexpr Chunks(Span span, Index chunk) : span_(span), chunk_(chunk) {}
  class Iterator {
   public:
    ATTUNE_BOTH constexpr Iterator(Index at, Index end, Index chunk, bool over)
        : at_(at), end_(end), chunk_(chunk), over_(over) {}
    [[nodiscard]] ATTUNE_BOTH constexpr Span operator*() const {
      return {at_, end_ - at_ < chunk_ ? end_ - at_ : chunk_};
    }
    ATTUNE_BOTH constexpr Iterator& operator++() {
      over_ = end_ - at_ <= chunk_;
      at_ += chunk_;
      return *this;
    }
    ATTUNE_BOTH constexpr bool operator!=(const Iterator& other) const { return over_ != other.over_; }

   private:
    Index at_, end_, chunk_;
    bool over_;
  };
  [[nodiscard]] ATTUNE_BOTH constexpr Iterator begin() const { return {span_.first, span_.end(), chunk_, false}; }
  [[nodiscard]] ATTUNE_BOTH constexpr Iterator end() const { return {span_.end(), span_.end(), chunk_, true}; }

 private:
  Span span_;
  Index chunk_;
};
/// `chunk` is at least 1.
[[nodiscard]] ATTUNE_BOTH constexpr Chunks chunks_of(Span span, Index chunk) { return {span, chunk}; }

}  // namespace attune
