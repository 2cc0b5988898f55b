// The journal: what is written is read back, damage is found and named, a killed run's tail is dropped.
#include "tuner/record.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "dispatch/json.h"

namespace attune::tuner {
namespace {

Record example(int block = 0) {
  return {.problem = {.dtype = DType::bf16, .count = 4096, .ranks = 2},
          .plan = {.variant = "two_shot_write", .blocks = 2},
          .launch = "2026-11-29T12:00:00Z-host-123",
          .block = block,
          .samples_us = {0.19, 0.1875, 12.5, 1e6 / 3}};
}

TEST(Record, RoundTripsInEveryField) {
  Record record = example(7);
  record.samples_us = {0.19, 0.1875, 12.5, 0};
  EXPECT_EQ(record_from_line(to_line(record).substr(0, to_line(record).size() - 1)), record);
  record.status = CellStatus::timed_out;
  record.stage = Stage::confirm;
  record.rejected = 3;
  record.converged = false;
  record.noisy = true;
  record.oversubscribed = true;
  record.ran = "ring/ll channels 0..3";
  record.clock = Clock{.sm_mhz = 1980, .least_mhz = 1200, .throttled = 2, .reasons = "power cap, heat"};
  record.mode = Mode::throughput;
  record.cache = CacheState::hot;
  record.reason = "rank 1 waited for block 0\nof rank 0";
  const std::string line = to_line(record);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line, whatever the reason holds";
  EXPECT_EQ(record_from_line(line.substr(0, line.size() - 1)), record);
}

/// Lines of before clocks were recorded, and of the host, are read as they are.
TEST(Record, WithoutAClockIsRead) {
  const std::string line = to_line(example());
  EXPECT_EQ(line.find("clock"), std::string::npos);
  EXPECT_FALSE(record_from_line(line.substr(0, line.size() - 1)).clock.has_value());
}

TEST(Record, KeepsTimesToATenthOfANanosecond) {
  const std::string line = to_line(example());
  EXPECT_NE(line.find("[0.19,0.1875,12.5,333333.3333]"), std::string::npos) << line;
}

TEST(Crc32, HasTheKnownCheckValue) {
  EXPECT_EQ(crc32("123456789"), 0xCBF43926U);
  EXPECT_EQ(crc32(""), 0U);
}

/// Every single changed byte of a line is found.
TEST(Record, EveryChangedByteIsFound) {
  const std::string line = to_line(example()).substr(0, to_line(example()).size() - 1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::string damaged = line;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_THROW((void)record_from_line(damaged), Error) << "byte " << i;
  }
}

TEST(Journal, ATornLastLineIsDroppedWhereverItWasCut) {
  const std::string first = to_line(example(0));
  const std::string text = first + to_line(example(1));
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const Journal journal = read_journal(std::string_view(text).substr(0, length));
    const std::size_t whole = length == text.size() ? 2 : length >= first.size() ? 1 : 0;
    ASSERT_EQ(journal.records.size(), whole) << length;
    ASSERT_TRUE(journal.bad.empty());
    ASSERT_EQ(journal.torn, length != 0 && length != first.size() && length != text.size());
    ASSERT_EQ(journal.good_bytes, static_cast<std::int64_t>(whole == 2 ? text.size() : whole == 1 ? first.size() : 0));
  }
}

TEST(Journal, CorruptLinesAreNamedAndTheRestIsRead) {
  std::string second = to_line(example(1));
  second[20] ^= 1;
  const Journal journal = read_journal(to_line(example(0)) + second + "\n" + to_line(example(3)));
  ASSERT_EQ(journal.records.size(), 2U);
  EXPECT_EQ(journal.records[1].block, 3);
  ASSERT_EQ(journal.bad.size(), 2U);
  EXPECT_EQ(journal.bad[0].number, 2);
  EXPECT_EQ(journal.bad[0].reason, "the checksum does not match");
  EXPECT_EQ(journal.bad[1].number, 3);
  EXPECT_FALSE(journal.torn);
}

/// A line whose checksum is right but whose content is not is refused with the place of the fault.
TEST(Journal, AnUnknownFormIsNamed) {
  std::string body = R"({"status":"ok","problme":1)";
  char sum[16];
  std::snprintf(sum, sizeof(sum), "%08x", crc32(body));
  const Journal journal = read_journal(body + ",\"crc\":\"" + sum + "\"}\n");
  ASSERT_EQ(journal.bad.size(), 1U);
  EXPECT_EQ(journal.bad[0].reason, "/problme: unknown key 'problme', did you mean 'problem'?");
}

TEST(Journal, AMissingFileIsAnError) { EXPECT_THROW((void)load_journal("/nonexistent/journal.jsonl"), Error); }

}  // namespace
}  // namespace attune::tuner
