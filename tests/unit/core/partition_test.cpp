/// Cutting: parts cover a span without gap or overlap in whole packs, also beyond 2^31 (other projects' 32-bit
/// overflows); chunks cover a span, and an empty span is one empty piece.
#include "core/partition.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(PartOf, CoversTheSpanInWholePacks) {
  for (const Index lanes : {1, 4, 16, 64})
    for (int parts = 1; parts <= 64; parts += parts < 9 ? 1 : 11)
      for (const Index count : {Index{0}, Index{1}, lanes - 1, lanes, lanes + 1, Index{997}, Index{1000003},
                                (Index{1} << 31) + 1, (Index{5} << 30) * 8 + 3}) {
        Index at = 7 * lanes;
        Index largest = 0;
        Index smallest = count + lanes;
        for (int which = 0; which < parts; ++which) {
          const Span part = part_of({7 * lanes, count}, which, parts, lanes);
          ASSERT_EQ(part.first, at) << count << " in " << parts << " parts, part " << which;
          ASSERT_GE(part.count, 0);
          const bool last = part.end() == 7 * lanes + count;
          ASSERT_TRUE(last || part.count % lanes == 0);
          largest = std::max(largest, (part.count + lanes - 1) / lanes);
          smallest = std::min(smallest, (part.count + lanes - 1) / lanes);
          at = part.end();
        }
        ASSERT_EQ(at, 7 * lanes + count);
        ASSERT_LE(largest - smallest, 1) << "parts differ by at most one pack";
      }
}

TEST(ChunksOf, CoverTheSpanAndKeepAnEmptyOne) {
  for (const Index count : {0, 1, 63, 64, 65, 1000})
    for (const Index chunk : {1, 64, 100000}) {
      Index at = 5;
      int pieces = 0;
      for (const Span part : chunks_of({5, count}, chunk)) {
        ASSERT_EQ(part.first, at);
        ASSERT_LE(part.count, chunk);
        at = part.end();
        ++pieces;
      }
      ASSERT_EQ(at, 5 + count);
      ASSERT_EQ(pieces, count == 0 ? 1 : (count + chunk - 1) / chunk);
    }
}

}  // namespace
}  // namespace attune
