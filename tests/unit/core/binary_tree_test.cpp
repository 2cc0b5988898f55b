// The two trees span all ranks, agree on who is whose parent, are shallow, and share out the work.
#include "core/binary_tree.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

int depth_of(int rank, int ranks, int tree) {
  int depth = 0;
  for (int at = rank; !place_in_tree(at, ranks, tree).root() && depth <= ranks; ++depth)
    at = place_in_tree(at, ranks, tree).parent;
  return depth;
}

class Trees : public testing::TestWithParam<int> {};

TEST_P(Trees, HaveOneRootAndParentsThatKnowTheirChildren) {
  const int n = GetParam();
  for (int tree : {0, 1}) {
    int roots = 0, children = 0;
    for (int rank = 0; rank < n; ++rank) {
      const TreePlace place = place_in_tree(rank, n, tree);
      roots += place.root() ? 1 : 0;
      for (const int child : place.children) {
        if (child < 0) continue;
        ++children;
        ASSERT_LT(child, n);
        EXPECT_EQ(place_in_tree(child, n, tree).parent, rank);
      }
    }
    EXPECT_EQ(roots, 1);
    EXPECT_EQ(children, n - 1);
  }
}

TEST_P(Trees, AreNoDeeperThanALogarithm) {
  const int n = GetParam();
  int log2 = 0;
  while ((1 << log2) < n) ++log2;
  for (int tree : {0, 1})
    for (int rank = 0; rank < n; ++rank) EXPECT_LE(depth_of(rank, n, tree), log2);
}

TEST_P(Trees, MakeALeafOfOneWorkInTheOther) {
  const int n = GetParam();
  int in_both = 0;
  for (int rank = 0; rank < n; ++rank) {
    const bool leaf0 = place_in_tree(rank, n, 0).leaf();
    const bool leaf1 = place_in_tree(rank, n, 1).leaf();
    EXPECT_FALSE(leaf0 && leaf1);
    in_both += leaf0 || leaf1 ? 0 : 1;
  }
  EXPECT_EQ(in_both, n % 2);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Trees, testing::Range(2, 34));

}  // namespace
}  // namespace attune
