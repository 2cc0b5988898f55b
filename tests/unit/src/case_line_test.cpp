// What a sweep says of a case: what the table will say, not the smallest of many noisy numbers.
#include <gtest/gtest.h>

#include "src/sweep_leader.h"

namespace attune::driver {
namespace {

using tuner::CellStatus;
using tuner::Decision;

const Problem four_kib{.count = 1024, .ranks = 2};

CellSummary cell_of(const std::string& variant, double median_us) {
  CellSummary cell;
  cell.problem = four_kib;
  cell.plan.variant = variant;
  cell.median_us = median_us;
  if (median_us == 0) cell.status = CellStatus::failed;
  return cell;
}

/// mesh has the smaller median, but from rounds in which the machine was faster.
const std::vector<CellSummary> three{cell_of("mesh", 1.65), cell_of("ring", 0), cell_of("vendor", 2.7)};

TEST(CaseLine, NamesWhatIsChosenAndNotTheSmallestMedian) {
  const Decision decision{.problem = four_kib, .chosen = {}, .vendor_us = 2.7};
  const std::string line = case_line(three, &decision);
  EXPECT_NE(line.find("registered: vendor 2.70 us, 3 cells, 1 BAD"), std::string::npos) << line;
}

TEST(CaseLine, TheRatioIsThatOfSharedRounds) {
  const Decision decision{
      .problem = four_kib, .chosen = {.variant = "mesh"}, .to_vendor = {.ratio = 0.8}, .vendor_us = 2.7};
  const std::string line = case_line(three, &decision);
  EXPECT_NE(line.find("mesh 1.65 us, vendor 2.70 us (1.25x), 3 cells"), std::string::npos) << line;
}

TEST(CaseLine, SaysWhenNothingIsDecided) {
  EXPECT_NE(case_line(three, nullptr).find("too little was measured to decide, 3 cells"), std::string::npos);
  EXPECT_NE(case_line(std::span(three).subspan(1, 1), nullptr).find("nothing could be timed, 1 cells, 1 BAD"),
            std::string::npos);
}

}  // namespace
}  // namespace attune::driver
