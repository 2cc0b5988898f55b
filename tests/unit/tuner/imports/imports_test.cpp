/// Logs of others: what they hold becomes records, and what they lack, lose or do not say is named.
#include "tuner/imports/imports.h"
#include "tuner/imports/nccl_log.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"

namespace attune::tuner {
namespace {

const std::string header =
    "# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 "
    "validation: 1 "
    "graph: 0\n#\n# Using devices\n"
    "#  Rank  0 Group  0 Pid   1000 on     node1 device  0 [0000:01:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   1001 on     node1 device  1 [0000:02:00] NVIDIA H100 80GB HBM3\n"
    "#\n"
    "#                                                              out-of-place                       in-place        "
    "  \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)     "
    "  \n";
const std::string row_1k =
    "        1024           256     float     sum      -1    10.00    0.10    0.10      0    11.00    0.09    0.09     "
    " 0\n";
const std::string row_2k =
    "        2048           512     float     sum      -1    12.00    0.17    0.17      0    13.00    0.16    0.16     "
    " 0\n";
const std::string footer = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.13\n#\n";

Imported read(const std::string& text, const ImportOptions& options = {}) { return import_text(text, "log", options); }

bool noted(const Imported& imported, std::string_view words) {
  return std::ranges::any_of(imported.notes, [&](const auto& note) { return note.find(words) != std::string::npos; });
}

std::vector<double> times(const Imported& imported) {
  std::vector<double> list;
  for (const Record& record : imported.records) list.push_back(record.samples_us.empty() ? -1 : record.samples_us[0]);
  return list;
}

TEST(ImportNcclText, AWholeLog) {
  const auto imported = read(header + row_1k + row_2k + footer);
  EXPECT_EQ(times(imported), (std::vector<double>{10, 11, 12, 13}));
  EXPECT_TRUE(imported.notes.empty()) << imported.notes.front();
  EXPECT_EQ(imported.tool, "nccl-tests 2.17.6");
  EXPECT_EQ(imported.device, "NVIDIA H100 80GB HBM3");
  const Record& record = imported.records[1];
  EXPECT_EQ(record.problem,
            (Problem{.count = 256, .ranks = 2, .placement = Placement::in_place, .memory = Memory::staged}));
  EXPECT_EQ(record.plan, Plan{.variant = "vendor"});
  EXPECT_EQ(record.mode, Mode::throughput);
  EXPECT_FALSE(record.converged) << "a single number has no interval";
  EXPECT_NE(record.reason.find("single number"), std::string::npos);
}

TEST(ImportNcclText, EveryPlaceAtWhichALogCanBeCut) {
  const std::string whole = header + row_1k + row_2k + footer;
  const auto all = read(whole);
  for (std::size_t size = header.size() + 70; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    if (size < header.size() + 90) {  // before the first half of the first row is whole
      try {
        (void)read(cut);
      } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::usage);
      }
      continue;
    }
    const auto part = read(cut);
    ASSERT_LE(part.records.size(), all.records.size());
    for (std::size_t i = 0; i < part.records.size(); ++i)
      EXPECT_EQ(part.records[i], all.records[i]) << "cut after " << size << " bytes";
    if (cut.find("# Out of bounds") == std::string::npos) {
      EXPECT_TRUE(noted(part, "ends early")) << size;
    }
  }
}

TEST(ImportNcclText, ACutRowIsNamedAndItsWholeHalfKept) {
  const auto imported = read(header + row_1k + row_2k.substr(0, 90));
  EXPECT_EQ(times(imported), (std::vector<double>{10, 11, 12}));
  EXPECT_TRUE(noted(imported, "line 13: cut: no whole in-place half"));
}

TEST(ImportNcclText, ResultsThatWereNotCheckedAndWrongOnes) {
  std::string unchecked = row_1k;
  unchecked.replace(unchecked.rfind(" 0\n"), 2, "N/A");
  std::string wrong = row_2k;
  wrong.replace(wrong.rfind(" 0\n"), 2, " 7");
  const auto imported = read(header + unchecked + wrong + footer);
  ASSERT_EQ(imported.records.size(), 4U);
  EXPECT_TRUE(noted(imported, "1 results were not checked"));
  EXPECT_NE(imported.records[1].reason.find("not checked"), std::string::npos);
  EXPECT_EQ(imported.records[1].status, CellStatus::ok);
  EXPECT_EQ(imported.records[3].status, CellStatus::wrong);
}

TEST(ImportNcclText, TimesThatAreNotAvailable) {
  const auto imported =
      read(header +
           "        1024           256     float     sum      -1    10.00    0.10    0.10    N/A      "
           "N/A     N/A     N/A    N/A\n" +
           footer);
  EXPECT_EQ(times(imported), std::vector<double>{10});
  EXPECT_TRUE(noted(imported, "in-place has no time"));
}

TEST(ImportNcclText, TwoRunsInOneFileStayApart) {
  std::string other = header;
  other.insert(other.find("#\n#       "),
               "#  Rank  2 Group  0 Pid   1002 on     node1 device  2 [0000:03:00] NVIDIA H100 80GB HBM3\n");
  const auto imported = read(header + row_1k + other + row_1k + footer);
  ASSERT_EQ(imported.records.size(), 4U);
  EXPECT_EQ(imported.records[0].problem.ranks, 2);
  EXPECT_EQ(imported.records[2].problem.ranks, 3);
  EXPECT_NE(imported.records[0].launch, imported.records[2].launch);
  EXPECT_TRUE(noted(imported, "2 runs in one file"));
  EXPECT_TRUE(noted(imported, "line 1 on has no closing lines"));
}

TEST(ImportNcclText, RepeatedRowsAreBlocksOfOneLaunch) {
  const auto imported = read(header + row_1k + row_1k + footer);
  EXPECT_EQ(imported.records[0].block, 0);
  EXPECT_EQ(imported.records[2].block, 1);
}

TEST(ImportNcclText, InPlaceOnly) {
  std::string single = header;
  const auto replace = [&](const std::string& from, const std::string& to) {
    single.replace(single.find(from), from.size(), to);
  };
  replace("out-of-place                       in-place", "in-place");
  replace("   time   algbw   busbw #wrong     time   algbw   busbw #wrong", "   time   algbw   busbw #wrong");
  const std::string row = "        1024           256     float     sum      -1    11.00    0.09    0.09      0\n";
  const auto imported = read(single + row + footer);
  ASSERT_EQ(imported.records.size(), 1U);
  EXPECT_EQ(imported.records[0].problem.placement, Placement::in_place);
  const std::string blank(30, ' ');
  const auto gap = read(header + "        1024           256     float     sum      -1" + blank +
                        "    11.00    0.09    0.09      0\n" + footer);
  ASSERT_EQ(gap.records.size(), 1U);
  EXPECT_EQ(gap.records[0].problem.placement, Placement::in_place);
  EXPECT_TRUE(noted(gap, "no out-of-place half"));
  const auto front = read(header + row + footer);
  ASSERT_EQ(front.records.size(), 1U);
  EXPECT_EQ(front.records[0].problem.placement, Placement::out_of_place);
  EXPECT_TRUE(noted(front, "no in-place half"));
}

TEST(ImportNcclText, MoreColumnsAreFoundByTheirNames) {
  std::string wide = header;
  const std::string half = "   time   algbw   busbw #wrong";
  for (std::size_t at = wide.find(half); at != std::string::npos; at = wide.find(half, at + 60))
    wide.replace(at, half.size(), half + "  i_min  i_max  i_p99  i_cv%");
  const auto imported =
      read(wide +
           "        1024           256     float     sum      -1    10.00    0.10    0.10      0   9.0  "
           "12.0  11.9   3.1    11.00    0.09    0.09      0   9.5  12.5  12.0   3.2\n" +
           footer);
  EXPECT_EQ(times(imported), (std::vector<double>{10, 11}));
}

TEST(ImportNcclText, WhatIsNoAllreduceOrNoSenseIsLeftOut) {
  std::string gather = header;
  gather.replace(gather.find("all_reduce_perf"), 15, "all_gather_perf");
  const auto imported = read(gather + row_1k + footer + header + row_2k + "NCCL WARN something\n" +
                             "        2048           512     float     sum      -1    12.00    9.99    0.17      0    "
                             "13.00    0.16    0.16      0\n" +
                             "        4096           512     float     sum      -1    12.00    0.34    0.17      0    "
                             "13.00    0.32    0.16      0\n" +
                             "        2048           512     float  mulsum      -1    12.00    0.17    0.17      0    "
                             "13.00    0.16    0.16      0\n" +
                             footer);
  EXPECT_EQ(times(imported), (std::vector<double>{12, 13, 13}));
  EXPECT_TRUE(noted(imported, "all_gather_perf, no allreduce"));
  EXPECT_TRUE(noted(imported, "contradict"));
  EXPECT_TRUE(noted(imported, "do not belong together"));
  EXPECT_TRUE(noted(imported, "mulsum"));
  EXPECT_TRUE(noted(imported, "no part of a table"));
}

TEST(ImportNcclText, RanksMustBeKnown) {
  EXPECT_THROW((void)read(row_1k), Error);
  EXPECT_EQ(read(row_1k, {.ranks = 4}).records[0].problem.ranks, 4);
  for (const char* nothing : {"", "\n\n", "hello\n", "# nccl-tests version 1\n"})
    EXPECT_THROW((void)read(nothing), Error);
}

TEST(ImportNcclText, TheHostsTimesAreNoTimes) {
  std::string cpu = header;
  for (std::size_t at = cpu.find("   time"); at != std::string::npos; at = cpu.find("   time", at + 8))
    cpu.replace(at, 7, "cputime");
  EXPECT_THROW((void)read(cpu + row_1k + footer), Error);
}

TEST(ImportNcclText, BenchsOwnTextKeepsItsPlans) {
  const auto imported = read(
      "# attune version 0.1.0 bench, in nccl-tests' columns\n# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 1024 maxBytes 1024 step: 2(factor) graph: 0\n"
      "# plans: by hand; memory: registered; time: median of single calls from a common start, cache rewritten\n"
      "#  Rank  0 Group  0 Pid   1000 on     node1 device  0 [host] Some CPU\n"
      "#  Rank  1 Group  0 Pid   1001 on     node1 device  0 [host] Some CPU\n" +
      header.substr(header.find("#       size")) + row_1k +
      "#       1024     float     sum  out-of-place  mesh blocks=2 threads=1 chunk=0 (by hand)\n" + footer);
  EXPECT_EQ(imported.records[0].plan, (Plan{.variant = "mesh", .blocks = 2}));
  EXPECT_EQ(imported.records[0].mode, Mode::latency);
  EXPECT_EQ(imported.records[0].problem.memory, Memory::registered);
  EXPECT_EQ(imported.records[1].plan.variant, "vendor");
  EXPECT_FALSE(imported.cuda);
}

const std::string json = R"({"version": 3, "args": ["./all_reduce_perf", "-R", "1"], "config": {"graph": 0, "devices": [
  {"rank": 0, "device_info": "NVIDIA H100"}, {"rank": 1, "device_info": "NVIDIA H100"}]},
 "results": [
  {"size": 1024, "count": 256, "type": "float", "redop": "sum", "root": "    -1",
   "out_of_place": {"time": 10.0, "alg_bw": 0.1, "bus_bw": 0.1, "nwrong": 0.0},
   "out_of_place_per_iter": {"times_us": [9.0, 10.0, 11.0]},
   "in_place": {"time": 11.0, "alg_bw": 0.1, "bus_bw": 0.1, "nwrong": null}},
  {"size": 2048, "count": 512, "type": "float", "redop": "sum", "root": "    -1",
   "out_of_place": {"time": 12.0, "alg_bw": 0.1, "bus_bw": 0.1, "nwrong": 0.0},
   "in_place": {"time": "nan", "alg_bw": 0.1, "bus_bw": 0.1, "nwrong": 0.0}}],
 "errors": []})";

TEST(ImportNcclJson, SamplesSettingsAndWhatIsMissing) {
  const auto imported = read(json);
  ASSERT_EQ(imported.records.size(), 3U);
  EXPECT_EQ(imported.records[0].samples_us, (std::vector<double>{9, 10, 11}));
  EXPECT_TRUE(imported.records[0].converged);
  EXPECT_EQ(imported.records[0].problem.memory, Memory::registered) << "-R 1";
  EXPECT_EQ(imported.records[1].samples_us, std::vector<double>{11});
  EXPECT_TRUE(noted(imported, "not checked"));
  EXPECT_TRUE(noted(imported, "2048 bytes: no time in_place"));
}

TEST(ImportNcclJson, CutAnywhereItIsReadForItsWholeResults) {
  std::size_t most = 0;
  for (std::size_t size = 1; size < json.size(); ++size) {
    try {
      const auto part = read(json.substr(0, size));
      EXPECT_GE(part.records.size(), most);
      EXPECT_TRUE(noted(part, "cut or damaged"));
      most = part.records.size();
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::usage);
      EXPECT_EQ(most, 0U) << size;
    }
  }
  EXPECT_EQ(most, 3U);
  EXPECT_EQ(read(json + "\n" + json).records.size(), 6U);
}

TEST(ImportOsu, SizesAndAverages) {
  const std::string osu =
      "# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_FLOAT.\n# Size       Avg Latency(us)\n4  1.25\n8 2.5 2.0 "
      "3.0 1000\n";
  const auto imported = read(osu, {.ranks = 2});
  EXPECT_EQ(times(imported), (std::vector<double>{1.25, 2.5}));
  EXPECT_EQ(imported.records[0].mode, Mode::latency);
  EXPECT_TRUE(imported.notes.empty());
  EXPECT_THROW((void)read(osu), Error) << "OSU does not say the ranks";
  const auto silent = read("# OSU MPI Allreduce Latency Test v5.8\n4 1.25\n6 2\n8 1.", {.ranks = 2});
  EXPECT_EQ(times(silent), std::vector<double>{1.25}) << "6 bytes are no whole float, the last number may be cut";
  EXPECT_TRUE(noted(silent, "f32 is assumed"));
  EXPECT_THROW((void)read("# OSU MPI Broadcast Latency Test v7.4\n4 1.25\n", {.ranks = 2}), Error);
}

TEST(ImportMscclpp, AlgorithmsBecomePlans) {
  const std::string tuned = R"({"version": 1, "profiles": [{"sku": "H100", "scale": 8, "collectives": {"allreduce": [
    {"message_size": 1024, "algorithm": "default_allreduce_packet", "nblocks": 8, "nthreads": 512, "symmetric_memory": false, "time_us": 5.5},
    {"message_size": 1024, "algorithm": 3}]}}]})";
  const auto imported = read(tuned);
  ASSERT_EQ(imported.records.size(), 1U);
  EXPECT_EQ(imported.records[0].plan,
            (Plan{.variant = "vendor:mscclpp/default_allreduce_packet", .blocks = 8, .threads = 512}));
  EXPECT_EQ(imported.records[0].problem.ranks, 8);
  EXPECT_EQ(imported.records[0].problem.dtype, DType::f16);
  EXPECT_TRUE(noted(imported, "f16 is assumed"));
  EXPECT_TRUE(noted(imported, "1 entries are no cells"));
  EXPECT_THROW((void)read(R"({"profiles": 5})"), std::exception);
  EXPECT_THROW((void)read(R"({"profiles": []})"), Error);
}

TEST(NcclLog, TellsWhatTheLastCallRan) {
  const std::string head = "node:12:12 [0] NCCL INFO ";
  const std::string log = head + "Algorithm   | Tree | Ring\n" + head +
                          "AllReduce: 4096 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}\n" + "noise\n" + head +
                          "AllReduce: 8192 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..15}\n" + head + "done\n";
  EXPECT_EQ(ran_by_nccl(log), "ring/ll128 channels 0..15");
  EXPECT_EQ(ran_by_nccl(log.substr(0, log.find("..15"))), "tree/ll channels 0..1") << "a line that is cut is none";
  EXPECT_EQ(ran_by_nccl(head + "AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R nchannels 4 nthreads 512 "
                               "nWorks 1\n"),
            "symmetric/AllReduce_AGxLL_R channels 0..3 threads 512");
  EXPECT_EQ(ran_by_nccl(head + "AllReduce: 8 Bytes -> Algo 1 proto 2 time 12.5\n"), "ring/simple") << "as of old";
}

TEST(NcclLog, PassesOverWhatItDoesNotKnow) {
  for (const char* rest :
       {"", "\n", " Bytes -> \n", "8 Bytes -> Algo\n", "8 Bytes -> Algo RING\n", "8 Bytes -> Kernel\n",
        "8 Bytes -> Method X proto Y\n", "8 Bytes -> Algo RING protocol LL channel\n"})
    EXPECT_EQ(ran_by_nccl(std::string("NCCL INFO AllReduce: ") + rest), "") << rest;
}

}  // namespace
}  // namespace attune::tuner
