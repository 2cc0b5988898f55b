/// What a sweep leaves on the disk, and what is learnt from it after a crash.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "src/journal.h"
#include "src/manifest.h"
#include "src/progress.h"
#include "src/sha256.h"
#include "src/summary.h"

namespace attune::driver {
namespace {
namespace fs = std::filesystem;

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("attune-run-folder-" + std::to_string(::getpid()));
    fs::remove_all(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  [[nodiscard]] RunFolder resumable() const {
    if (!fs::exists(path_)) {
      RunFolder folder = RunFolder::create(path_);
      write_file(folder.file("manifest.json"), "{}");
    }
    return RunFolder::reopen(path_);
  }
  fs::path path_;
};

tuner::Record record_of(double time_us) {
  tuner::Record record;
  record.problem.count = 10;
  record.plan.variant = "mesh";
  record.launch = "a";
  record.samples_us = {time_us, time_us};
  return record;
}

TEST_F(Folder, ATornLineIsCutOffAndTheRestGoesOn) {
  const std::string journal = resumable().file("journal.jsonl");
  { JournalWriter(journal, 0).append(record_of(1)); }
  std::ofstream(journal, std::ios::app) << R"({"status":"ok","prob)";
  const RunFolder folder = RunFolder::reopen(path_);
  EXPECT_TRUE(folder.earlier().torn);
  { JournalWriter(journal, folder.earlier().good_bytes).append(record_of(2)); }
  const auto all = tuner::load_journal(journal);
  EXPECT_EQ(all.records.size(), 2U);
  EXPECT_TRUE(all.bad.empty());
  EXPECT_FALSE(all.torn);
}

TEST_F(Folder, IsNotOverwritten) {
  (void)resumable();
  EXPECT_THROW((void)RunFolder::create(path_), Error);
}
TEST_F(Folder, IsWrittenByOneSweepAtATime) {
  {
    const RunFolder folder = resumable();
    EXPECT_THROW((void)RunFolder::reopen(path_), Error);
  }
  EXPECT_NO_THROW((void)RunFolder::reopen(path_)) << "the other has ended";
}
TEST_F(Folder, ThatHoldsNoRunIsNotResumed) { EXPECT_THROW((void)RunFolder::reopen(path_), Error); }

TEST_F(Folder, AKillFromOutsideIsForgivenOnceAndThenBlamed) {
  const CellName cell{{.count = 5}, {.variant = "ring"}};
  resumable().note_running(cell);
  EXPECT_TRUE(RunFolder::reopen(path_).blamed().empty());
  resumable().note_running({{.count = 6}, {.variant = "ring"}});
  EXPECT_TRUE(RunFolder::reopen(path_).blamed().empty()) << "another cell";
  resumable().note_running(cell);
  const auto blamed = RunFolder::reopen(path_).blamed();
  ASSERT_EQ(blamed.size(), 1U);
  EXPECT_EQ(blamed[0].status, tuner::CellStatus::failed);
  EXPECT_EQ(blamed[0].plan.variant, "ring");
  EXPECT_EQ(blamed[0].problem.count, 5);
}

TEST_F(Folder, BlameIsRepeatedUntilItIsOnTheDisk) {
  const RunFolder folder = resumable();
  folder.note_running({{.count = 5}, {.variant = "ring"}});
  note_fatal(path_, 0, "rank 0 waited 70 s for rank 1");
  EXPECT_EQ(folder.blamed().size(), 1U);
  EXPECT_EQ(folder.blamed().size(), 1U) << "killed before the record was written";
  folder.forget_blame();
  EXPECT_TRUE(folder.blamed().empty());
}

TEST_F(Folder, AHalfWrittenLineIsNoLine) {
  const std::string path = resumable().file("finished.txt");
  EXPECT_TRUE(whole_lines(path).empty()) << "no file yet";
  append_line(path, "2 ranks, job 0");
  std::ofstream(path, std::ios::app) << "2 ranks, job 1";  // of job 12
  EXPECT_EQ(whole_lines(path), std::vector<std::string>{"2 ranks, job 0"});
  append_line(path, "2 ranks, job 7");
  EXPECT_EQ(whole_lines(path), (std::vector<std::string>{"2 ranks, job 0", "2 ranks, job 7"}));
}

TEST(Disk, ThatIsFullIsNamedWithTheCause) {
  try {
    append_line("/dev/full", "a line");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::usage);
    EXPECT_STREQ(error.what(),
                 "/dev/full: cannot write: No space left on device; make room, then continue with --resume");
  }
}

TEST_F(Folder, ACrashIsBlamedAtOnceWithItsSignal) {
  resumable().note_running({{.count = 5}, {.variant = "ring"}});
  const pid_t child = ::fork();
  if (child == 0) {
    note_crashes_in(path_, 3);
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGABRT);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  const auto blamed = RunFolder::reopen(path_).blamed();
  ASSERT_EQ(blamed.size(), 1U);
  EXPECT_EQ(blamed[0].reason, "rank 3 crashed with signal 06");
}

TEST_F(Folder, AHangThatEndedTheJobIsATimeout) {
  resumable().note_running({{.count = 5}, {.variant = "ring"}});
  note_fatal(path_, 0, "rank 0 waited 70 s for rank 1");
  const auto blamed = RunFolder::reopen(path_).blamed();
  ASSERT_EQ(blamed.size(), 1U);
  EXPECT_EQ(blamed[0].status, tuner::CellStatus::timed_out);
}

TEST_F(Folder, NothingIsBlamedAfterAGoodEnd) {
  resumable().note_running({{.count = 5}, {.variant = "ring"}});
  resumable().note_finished();
  EXPECT_TRUE(RunFolder::reopen(path_).blamed().empty());
}

TEST(Manifest, AnotherConfigurationIsNotContinuedButAnotherBudgetIs) {
  const LaunchFacts launch{.id = "a", .bindings = {"0", "1"}};
  const Json config{{"sizes", {8}}, {"budget", 10}};
  const Json manifest = new_manifest(config, launch);
  EXPECT_EQ(continued_manifest(manifest, {{"sizes", {8}}, {"budget", 20}}, launch)["launches"].size(), 2U);
  try {
    (void)continued_manifest(manifest, {{"sizes", {16}}, {"budget", 10}}, launch);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("sizes was [8], is [16]"), std::string::npos) << error.what();
  }
}

TEST(Summary, PrefersFreshTimesAndComparesWithTheVendor) {
  std::vector<tuner::Record> records;
  for (int block = 0; block < 5; ++block) {
    records.push_back(record_of(5));
    records.back().rejected = 1;
    records.push_back(record_of(10));
    records.back().stage = tuner::Stage::confirm;
    records.push_back(record_of(40));
    records.back().plan.variant = "vendor";
  }
  const auto cells = summarise(records, 0.03);
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].median_us, 10);
  EXPECT_EQ(cells[0].vendor_us, 40);
  EXPECT_EQ(cells[0].rejected, 5);
  const std::string csv = to_csv(cells);
  EXPECT_NE(csv.find(",ok,10,5,10.0000,10.0000,10.0000,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",40.0000,4.0000,true,"), std::string::npos) << csv;
}

TEST(Summary, TellsTheLowestClockAndHowOftenItWasHeldDown) {
  std::vector<tuner::Record> records{record_of(5), record_of(5), record_of(5)};
  records[0].clock = tuner::Clock{.sm_mhz = 1980, .least_mhz = 1980};
  records[1].clock = tuner::Clock{.sm_mhz = 1500, .least_mhz = 1200, .throttled = 3, .reasons = "heat"};
  records[2].ran = "tree/ll channels 0..1";
  const auto cells = summarise(records, 0.03);
  EXPECT_EQ(cells[0].sm_mhz, 1500);
  EXPECT_EQ(cells[0].throttled, 3);
  EXPECT_NE(to_csv(cells).find(",1500,3,tree/ll channels 0..1\n"), std::string::npos) << to_csv(cells);
}

TEST(Summary, AWrongCellIsWrongWhateverElseWasRecorded) {
  std::vector<tuner::Record> records{record_of(5), record_of(5)};
  records[0].status = tuner::CellStatus::wrong;
  records[0].reason = "rank 1, element 2: got 3, want 4";
  const auto cells = summarise(records, 0.03);
  EXPECT_EQ(cells[0].status, tuner::CellStatus::wrong);
  EXPECT_EQ(cells[0].median_us, 0) << "a wrong result has no time";
}

TEST(Summary, UsesTheRatesOfNcclTests) {
  const Problem problem{.count = 250, .ranks = 4};
  EXPECT_DOUBLE_EQ(algbw_gbs(problem, 1), 1);
  EXPECT_DOUBLE_EQ(busbw_gbs(problem, 1), 1.5);
}

TEST(Sha256, KnowsTheStandardsExamples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Progress, PrintsWholeLinesOnAPipeAndABarOnATerminal) {
  std::string piped, shown;
  double now = 0;
  {
    Progress progress(
        false, [&](const std::string& text) { piped += text; }, [&] { return now; });
    progress.update(0.5, "half");
    progress.line("one case");
  }
  EXPECT_EQ(piped, "one case\n");
  {
    Progress progress(
        true, [&](const std::string& text) { shown += text; }, [&] { return now; });
    now = 10;
    progress.update(0.25, "mesh");
    progress.line("one case");
  }
  EXPECT_NE(shown.find("[#####---------------]  25 %, 0:30 left mesh"), std::string::npos) << shown;
  EXPECT_NE(shown.find("\r\033[Kone case\n"), std::string::npos) << shown;
}

}  // namespace
}  // namespace attune::driver
