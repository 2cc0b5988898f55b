/// Tables in other software's words: that the files say what the table says, guard what was not measured, and name what
/// they cannot say.
#include "tuner/exports/exports.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "dispatch/json.h"
#include "runtime/composites/vendor_choices.h"
#include "tuner/exports/choices.h"

namespace attune::tuner {
namespace {

KeyedRules rules(int ranks, const std::vector<std::pair<Bytes, Plan>>& plans, TableKey key = {}) {
  KeyedRules entry{key, {}};
  entry.key.ranks = ranks;
  for (const auto& [from, plan] : plans) entry.rules.push_back({.min_bytes = from, .plan = plan});
  return entry;
}

Plan plan(const std::string& variant, int blocks = 1) { return {.variant = variant, .blocks = blocks}; }

Exported exported(std::vector<KeyedRules> tables, ExportFormat format, const ExportOptions& options = {}) {
  Table table;
  table.hardware.fingerprint = "here";
  table.tables = std::move(tables);
  return export_table(table, format, options);
}

/// The text without comments and empty lines.
std::string bare(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t feed = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, feed - at);
    line = line.substr(0, line.find('#'));
    while (!line.empty() && line.back() == ' ') line.pop_back();
    if (!line.empty()) result += line + "\n";
    at = feed + 1;
  }
  return result;
}

TEST(ExportOpenMpi, KeepsTheRulesToTheMeasuredRanks) {
  const auto result = exported({rules(4, {{0, plan("vendor:openmpi/recursive_doubling")},
                                          {16384, plan("vendor:openmpi/segmented_ring/131072")},
                                          {1 << 20, plan("vendor")}})},
                               ExportFormat::openmpi);
  EXPECT_EQ(bare(result.text),
            "1\n2\n3\n"
            "2\n1\n0 0 0 0\n"  // 2 and 3 ranks
            "4\n3\n0 3 0 0\n16384 5 0 131072\n1048576 0 0 0\n"
            "5\n1\n0 0 0 0\n");
}

TEST(ExportOpenMpi, EveryAlgorithmThatASweepMeasuresCanBeSaid) {
  for (const auto& algorithm : host::open_mpi_algorithms()) {
    const std::string name = "vendor:openmpi/" + std::string(algorithm.name) + (algorithm.segmented ? "/4096" : "");
    const auto result = exported({rules(2, {{1024, plan(name)}})}, ExportFormat::openmpi);
    const std::string rule = "1024 " + std::to_string(algorithm.id) + (algorithm.segmented ? " 0 4096\n" : " 0 0\n");
    EXPECT_NE(bare(result.text).find(rule), std::string::npos) << name << "\n" << result.text;
  }
}

TEST(ExportOpenMpi, NamesNoAlgorithmBelowTheCountItNeeds) {
  // 64 bytes are 4 ranks' worth of the widest elements.
  const auto ring = exported({rules(4, {{0, plan("vendor:openmpi/ring")}})}, ExportFormat::openmpi);
  EXPECT_NE(bare(ring.text).find("4\n2\n0 0 0 0\n64 4 0 0\n"), std::string::npos) << ring.text;
  const auto swallowed =
      exported({rules(4, {{0, plan("vendor:openmpi/rabenseifner")}, {48, plan("vendor:openmpi/recursive_doubling")}})},
               ExportFormat::openmpi);
  EXPECT_NE(bare(swallowed.text).find("4\n2\n0 0 0 0\n48 3 0 0\n"), std::string::npos) << swallowed.text;
}

TEST(ExportOpenMpi, LeavesWhatItCannotSayToOpenMpiAndSaysSo) {
  const auto result =
      exported({rules(2, {{0, plan("push")}, {64, plan("mesh")}, {4096, plan("vendor:openmpi/nosuch")}})},
               ExportFormat::openmpi);
  EXPECT_EQ(bare(result.text), "1\n2\n2\n2\n1\n0 0 0 0\n3\n1\n0 0 0 0\n");
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_NE(result.notes[0].find("3 of 3 rules (mesh, push, vendor:openmpi/nosuch)"), std::string::npos);
}

TEST(ExportOpenMpi, SafeForNonCommutativeOperationsOnRequest) {
  const auto tables =
      std::vector{rules(2, {{0, plan("vendor:openmpi/recursive_doubling")}, {4096, plan("vendor:openmpi/ring")}})};
  EXPECT_NE(exported(tables, ExportFormat::openmpi).notes.at(0).find("non-commutative"), std::string::npos);
  const auto safe = exported(tables, ExportFormat::openmpi, {.safe_noncommutative = true});
  EXPECT_NE(bare(safe.text).find("0 3 0 0\n4096 0 0 0\n"), std::string::npos) << safe.text;
}

TEST(ExportOpenMpiJson, SaysOnlyWhatWasMeasured) {
  const auto result = exported({rules(2, {{0, plan("vendor:openmpi/allgather_reduce")}, {4096, plan("vendor")}}),
                                rules(4, {{0, plan("vendor")}})},
                               ExportFormat::openmpi_json);
  const Json file = parse_json(result.text, "exported");
  const Json expected =
      Json::parse(R"([{"comm_size_min": 2, "comm_size_max": 2, "comm_rank_distribution": "single-node",
      "rules": [{"msg_size_min": 0, "msg_size_max": 4095, "alg": "allgather_reduce"}]}])");
  EXPECT_EQ(file["collectives"]["allreduce"], expected);
}

TEST(ExportUcc, RangesAreHalfOpenAndOfTheMeasuredTeams) {
  const auto result = exported({rules(2, {{0, plan("vendor:ucc/knomial")}, {4096, plan("vendor:ucc/sra_knomial")}})},
                               ExportFormat::ucc);
  EXPECT_EQ(bare(result.text).find("UCC_TL_UCP_TUNE=allreduce:0-4096:host:[2-2]:inf:@knomial"), 0U) << result.text;
  EXPECT_NE(result.text.find("\nUCC_TL_UCP_TUNE=allreduce:0-4096:host:[2-2]:inf:@knomial#"
                             "allreduce:4096-inf:host:[2-2]:inf:@sra_knomial\n"),
            std::string::npos);
}

TEST(ExportNccl, RangesAreContiguousAndChannelsWrittenOut) {
  TableKey staged;
  staged.memory = Memory::staged;
  const auto result =
      exported({rules(8, {{0, plan("vendor:nccl/tree/ll", 4)}, {65536, plan("vendor:nccl/nvls/simple/16")}}),
                rules(8, {{0, plan("vendor:nccl/ring/ll128/8")}}, staged)},
               ExportFormat::nccl_csv);
  EXPECT_EQ(bare(result.text),
            "allreduce,0,65535,tree,ll,4,1,8,-1,1\n"
            "allreduce,65536,18446744073709551615,nvls,simple,16,1,8,-1,1\n"
            "allreduce,0,18446744073709551615,ring,ll128,8,1,8,-1,0\n");
  EXPECT_TRUE(result.notes.empty());
}

TEST(ExportNccl, WarnsOfTheOneChannelThatNoRuleMeans) {
  const auto result = exported({rules(8, {{0, plan("vendor:nccl/tree/ll")}, {4096, plan("vendor:nccl/ring/ll/2")}})},
                               ExportFormat::nccl_csv);
  EXPECT_EQ(bare(result.text), "allreduce,4096,18446744073709551615,ring,ll,2,1,8,-1,1\n");
  ASSERT_EQ(result.notes.size(), 2U);
  EXPECT_NE(result.notes[1].find("ONE channel"), std::string::npos);
}

TEST(ExportNccl, TheOptimizersInputHoldsWhatWasMeasured) {
  auto table = rules(8, {{0, plan("vendor:nccl/ring/ll/2")}, {4096, plan("two_shot")}});
  table.rules[0].time_us = 10;
  table.rules[0].at_bytes = 1000;
  const auto result = exported({table}, ExportFormat::nccl_optimize_csv);
  EXPECT_EQ(result.text,
            "collective,size_bytes,algorithm,protocol,channels,nodes,ranks,pipeOps,regBuff,bandwidth_gbps,latency_us\n"
            "allreduce,1000,ring,ll,2,1,8,-1,1,0.1000,10.0000\n");
  std::vector<Record> records{
      {.problem = {.count = 256, .ranks = 8},
       .plan = plan("vendor:nccl/tree/simple/4"),
       .launch = "a",
       .samples_us = {4, 5, 6}},
      {.problem = {.count = 256, .ranks = 8}, .plan = plan("mesh"), .launch = "a", .samples_us = {1}}};
  const auto measured = export_measurements(records, {});
  EXPECT_NE(measured.text.find("allreduce,1024,tree,simple,4,1,8,-1,1,0.2048,5.0000\n"), std::string::npos);
  EXPECT_EQ(measured.notes.size(), 1U);
}

const std::string generic = R"({"collective=bcast": {"algorithm=MPIR_Bcast_intra_binomial": {}},
  "collective=allreduce": {"comm_type=intra": {"algorithm=MPIR_Allreduce_intra_smp": {}},
                           "comm_type=inter": {"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast": {}}}})";

TEST(ExportMpich, ReplacesAllreduceAloneAndEndsEveryChain) {
  const auto result = exported({rules(4, {{0, plan("vendor:mpich/recursive_doubling")},
                                          {4096, plan("vendor:mpich/tree/tree_type=kary/k=4")},
                                          {65536, plan("vendor")},
                                          {Bytes{1} << 32, plan("vendor:mpich/ring")}})},
                               ExportFormat::mpich, {.base = generic, .base_name = "generic.json"});
  const Json file = parse_json(result.text, "exported");
  EXPECT_EQ(file["collective=bcast"], Json::parse(generic)["collective=bcast"]);
  const Json own = Json::parse(R"({"algorithm=MPIR_Allreduce_intra_smp": {}})");
  const Json& sizes = file["collective=allreduce"]["comm_type=intra"];
  EXPECT_EQ(sizes["comm_size<4"], own);
  EXPECT_EQ(sizes["comm_size=any"], own);
  const Json expected{
      {"avg_msg_size<4096", Json::parse(R"({"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}})")},
      {"avg_msg_size<65536",
       {{"is_commutative=yes",
         Json::parse(R"({"algorithm=MPIR_Allreduce_intra_tree": {"tree_type=kary": {}, "k=4": {}}})")},
        {"is_commutative=no", own}}},
      {"avg_msg_size=any", own}};  // sizes above 2 GiB cannot be said
  EXPECT_EQ(sizes["comm_size<=4"], expected) << sizes.dump(1);
}

TEST(ExportMpich, FindsTheBaseInsideALibrary) {
  const std::string library = std::string(
                                  "\x7f"
                                  "ELF\0junk",
                                  9) +
                              R"({"collective=bcast": 1})" + '\0' + generic + '\0' + "more";
  const auto result = exported({rules(2, {{0, plan("vendor:mpich/recexch/k=2")}})}, ExportFormat::mpich,
                               {.base = library, .base_name = "libmpich.so"});
  EXPECT_NE(result.text.find("MPIR_Allreduce_intra_recexch"), std::string::npos);
  EXPECT_NE(result.text.size() % 4096, 0U);
}

TEST(ExportMpich, RefusesABaseThatIsNone) {
  for (const char* base : {"", "{}", "no library", R"({"collective=allreduce": {}})"})
    EXPECT_THROW((void)exported({rules(2, {{0, plan("vendor")}})}, ExportFormat::mpich, {.base = base}), Error) << base;
}

TEST(ExportTables, OneIsChosenForEachNumberOfRanks) {
  TableKey half;
  half.dtype = DType::f16;
  const auto tables = std::vector{rules(2, {{0, plan("vendor:openmpi/ring")}}, half),
                                  rules(2, {{0, plan("vendor:openmpi/recursive_doubling")}})};
  const auto likely = exported(tables, ExportFormat::openmpi_json);
  EXPECT_NE(likely.text.find("recursive_doubling"), std::string::npos);
  EXPECT_NE(likely.notes.at(0).find("left out: 1 other"), std::string::npos);
  const auto asked = exported(tables, ExportFormat::openmpi_json, {.dtype = DType::f16});
  EXPECT_NE(asked.text.find("ring"), std::string::npos);
  EXPECT_THROW((void)exported(tables, ExportFormat::openmpi_json, {.dtype = DType::u8}), Error);
}

}  // namespace
}  // namespace attune::tuner
