// The dispatch table's file: what is written is read back, every fault is refused with its place, nothing is
// half-loaded, and the published schema says the same as the loader.
#include "dispatch/table.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "core/error.h"
#include "dispatch/json.h"
#include "tests/support/json_schema.h"

namespace attune {
namespace {

constexpr std::array<std::string_view, 5> variants{"mesh", "push", "ring", "two_shot_write", "reduce_scatter_rms_norm"};
const TableLimits limits{
    .variants = variants, .max_blocks = 8, .max_threads = 512, .why_not = [](std::string_view variant) -> std::string {
      return variant == "vendor:other/x" ? "not in this test" : "";
    }};

Json example() {
  return Json::parse(R"({"format": "attune-dispatch", "version": 1,
    "hardware": {"device": "host", "name": "AMD EPYC", "arch": "x86-64-v4", "ranks_per_node": 2, "links": "shared-memory",
                 "fingerprint": "host-amd-epyc"},
    "software": {"attune": "0.1.0", "vendor": "Open MPI 4.1.4", "driver": ""},
    "source": {"run": "runs/today", "journal_sha256": "00", "created": "2026-11-29T12:00:00Z"},
    "tables": [
      {"collective": "allreduce", "dtype": "f32", "op": "sum", "ranks": 2, "placement": "out_of_place",
       "memory": "registered", "launch_mode": "eager", "numerics": "rank_order",
       "rules": [
         {"min_bytes": 0, "variant": "push", "blocks": 1, "threads": 1, "time_us": 0.19, "ci_us": [0.18, 0.19], "vendor_us": 0.25},
         {"min_bytes": 4096, "variant": "two_shot_write", "blocks": 2, "chunk_bytes": 0, "confidence": "high"},
         {"min_bytes": 8192, "variant": "vendor:openmpi/ring"}]},
      {"collective": "reduce_scatter_rms_norm", "dtype": "bf16", "op": "sum", "ranks": 2, "cols": 7168, "epilogue": "none",
       "rules": [{"min_bytes": 0, "variant": "reduce_scatter_rms_norm"}]}]})");
}

std::string fault_of(const std::string& text) {
  try {
    (void)parse_table(text, "t.json", limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::usage);
    return error.what();
  }
  return {};
}

TEST(Table, WhatIsWrittenIsReadBack) {
  const Table table = parse_table(example().dump(), "t.json", limits);
  ASSERT_EQ(table.tables.size(), 2U);
  EXPECT_EQ(table.tables[0].rules[0].plan, (Plan{.variant = "push"}));
  EXPECT_EQ(table.tables[0].rules[1].plan.blocks, 2);
  EXPECT_EQ(table.tables[0].rules[1].confidence, Confidence::high);
  EXPECT_EQ(table.tables[1].key.cols, 7168);
  EXPECT_EQ(table.tables[1].key.memory, Memory::registered);
  EXPECT_EQ(parse_table(to_text(table), "again", limits), table);
}

TEST(Table, AnEmptyTableIsReadBack) {
  Table table;
  table.hardware.fingerprint = "x";
  EXPECT_EQ(parse_table(to_text(table), "again", limits), table);
}

TEST(Table, TextThatIsNotUtf8IsMendedOnWriting) {
  Table table;
  table.hardware.fingerprint = "x";
  table.hardware.name = "CPU \xff";
  EXPECT_NO_THROW((void)parse_table(to_text(table), "again", limits));
}

TEST(Table, ARuleHoldsUntilTheNext) {
  const Table table = parse_table(example().dump(), "t.json", limits);
  EXPECT_EQ(table.tables[0].rule_at(0).min_bytes, 0);
  EXPECT_EQ(table.tables[0].rule_at(4095).min_bytes, 0);
  EXPECT_EQ(table.tables[0].rule_at(4096).min_bytes, 4096);
  EXPECT_EQ(table.tables[0].rule_at(Bytes{1} << 60).min_bytes, 8192);
}

struct Fault {
  const char* patch;  ///< JSON merge patch by pointer: set, or remove when the value is the text "REMOVE".
  const char* value;
  const char* expected;  ///< Part of the message: pointer and reason.
  bool schema_sees;      ///< Can a JSON schema express it?
};

const Fault faults[] = {
    {"/format", R"("nccl")", "/format: expected 'attune-dispatch', got 'nccl'", true},
    {"/format", "REMOVE", "/format: this key is missing", true},
    {"/version", "2", "/version: expected 1", true},
    {"/version", "1.0", "/version: expected an integer", false},
    {"/hardware", "REMOVE", "/hardware: this key is missing", true},
    {"/hardware", "[]", "/hardware: expected an object, got []", true},
    {"/hardware/device", R"("gpu")", "/hardware/device: unknown device 'gpu', expected one of host, cuda", true},
    {"/hardware/fingerprint", R"("")", "/hardware/fingerprint: expected a text that is not empty", true},
    {"/hardware/nmae", R"("x")", "/hardware/nmae: unknown key 'nmae', did you mean 'name'?", true},
    {"/software/vendor", "3", "/software/vendor: expected a text, got 3", true},
    {"/tables", "{}", "/tables: expected a list, got {}", true},
    {"/tables/0", "7", "/tables/0: expected an object, got 7", true},
    {"/tables/0/dtype", R"("fp32")", "/tables/0/dtype: unknown dtype 'fp32', did you mean 'f32'?", true},
    {"/tables/0/ranks", "0", "/tables/0/ranks: expected an integer from 1", true},
    {"/tables/0/ranks", R"("2")", "/tables/0/ranks: expected an integer from 1", true},
    {"/tables/0/rnaks", "2", "/tables/0/rnaks: unknown key 'rnaks', did you mean 'ranks'?", true},
    {"/tables/0/cols", "8", "/tables/0/cols: only the tables of fused kernels have cols", false},
    {"/tables/1/cols", "REMOVE", "/tables/1/cols: the tables of reduce_scatter_rms_norm need the row length", false},
    {"/tables/0/rules", "[]", "/tables/0/rules: expected at least one rule", true},
    {"/tables/0/rules", "REMOVE", "/tables/0/rules: this key is missing", true},
    {"/tables/0/rules/0/min_bytes", "8", "/tables/0/rules/0/min_bytes: expected 0 in the first rule, got 8", false},
    {"/tables/0/rules/0/min_bytes", "-1", "/tables/0/rules/0/min_bytes: expected an integer of at least 0, got -1",
     true},
    {"/tables/0/rules/1/min_bytes", "18446744073709551615", "/tables/0/rules/1/min_bytes: expected an integer", false},
    {"/tables/0/rules/2/min_bytes", "4096",
     "/tables/0/rules/2/min_bytes: expected rules in ascending order, above 4096", false},
    {"/tables/0/rules/1/variant", R"("two_shot_wirte")",
     "/tables/0/rules/1/variant: unknown variant 'two_shot_wirte', did you mean 'two_shot_write'?", false},
    {"/tables/0/rules/1/variant", R"("")", "/tables/0/rules/1/variant: unknown variant ''", true},
    {"/tables/0/rules/1/variant", R"("vendor:")", "/tables/0/rules/1/variant: unknown variant 'vendor:'", false},
    {"/tables/0/rules/1/variant", "REMOVE", "/tables/0/rules/1/variant: this key is missing", true},
    {"/tables/0/rules/1/variant", R"("ring")",
     "/tables/0/rules/1/variant: ring is of the class per_hop, which this table's numerics, rank_order, does not admit",
     false},
    {"/tables/0/numerics", R"("vendor")",
     "/tables/0/rules/0/variant: push is of the class rank_order, which this table's numerics, vendor, does not admit",
     false},
    {"/tables/0/rules/1/variant", R"("reduce_scatter_rms_norm")",
     "/tables/0/rules/1/variant: reduce_scatter_rms_norm is no variant of allreduce", false},
    {"/tables/1/rules/0/variant", R"("mesh")",
     "/tables/1/rules/0/variant: mesh is no variant of reduce_scatter_rms_norm", false},
    {"/tables/0/rules/1/variant", R"("vendor:other/x")",
     "/tables/0/rules/1/variant: vendor:other/x cannot run on this device: not in this test", false},
    {"/tables/0/rules/1/blocks", "0", "/tables/0/rules/1/blocks: expected an integer from 1", true},
    {"/tables/0/rules/1/blocks", "9", "/tables/0/rules/1/blocks: expected at most 8 blocks on this device, got 9",
     false},
    {"/tables/0/rules/1/threads", "2",
     "/tables/0/rules/1/threads: expected at most 1 threads per block on a host device", false},
    {"/tables/0/rules/1/time_us", "-1", "/tables/0/rules/1/time_us: expected a number", true},
    {"/tables/0/rules/1/ci_us", "[2, 1]", "/tables/0/rules/1/ci_us: expected two ascending times", false},
    {"/tables/0/rules/1/ci_us", "[1]", "/tables/0/rules/1/ci_us: expected two ascending times", true},
    {"/tables/0/rules/1/confidence", R"("sure")", "/tables/0/rules/1/confidence: unknown confidence 'sure'", true},
    {"/tables/1/extra~1key", "1", "/tables/1/extra~1key: unknown key 'extra/key'", true},
};

Json patched(const Fault& fault) {
  Json json = example();
  const Json::json_pointer at(fault.patch);
  if (std::string_view(fault.value) == "REMOVE")
    json.at(at.parent_pointer()).erase(at.back());
  else
    json[at] = Json::parse(fault.value);
  return json;
}

TEST(Table, AClassAdmitsTheStricterOnesAndTheVendor) {
  Json json = example();
  json["tables"][0]["numerics"] = "per_hop";
  json["tables"][0]["rules"][1]["variant"] = "ring";
  EXPECT_EQ(parse_table(json.dump(), "t.json", limits).tables[0].rules[1].plan.variant, "ring");
}

TEST(Table, EveryFaultIsRefusedWithItsPlace) {
  for (const Fault& fault : faults) {
    const std::string message = fault_of(patched(fault).dump());
    EXPECT_NE(message.find(std::string("t.json: ") + fault.expected), std::string::npos)
        << fault.patch << " = " << fault.value << "\n got " << message;
  }
}

TEST(Table, TheSchemaRefusesWhatASchemaCan) {
  const auto schema = testing::load_schema("dispatch-table.schema.json");
  EXPECT_EQ(schema.fault(example()).value_or("ok"), "ok");
  for (const Fault& fault : faults)
    EXPECT_EQ(schema.fault(patched(fault)).has_value(), fault.schema_sees) << fault.patch << " = " << fault.value;
}

TEST(Table, WhatIsWrittenPassesTheSchema) {
  const auto schema = testing::load_schema("dispatch-table.schema.json");
  Table table = parse_table(example().dump(), "t.json", limits);
  table.tables[0].key.epilogue = EpilogueKind::bias;
  table.tables[0].rules[0].samples = 40;
  table.tables[0].rules[0].at_bytes = 64;
  table.tables[0].rules[0].launches = 3;
  EXPECT_EQ(schema.fault(Json::parse(to_text(table))).value_or("ok"), "ok");
}

/// Every word list of the schema is the code's.
TEST(Table, TheSchemaKnowsTheSameWords) {
  const Json schema = testing::load_schema("dispatch-table.schema.json").root();
  const auto same = [&](const char* pointer, const auto& names) {
    EXPECT_EQ(schema.at(Json::json_pointer(pointer))["enum"], Json(names)) << pointer;
  };
  same("/$defs/hardware/properties/device", detail::Names<DeviceKind>::list);
  same("/$defs/table/properties/collective", detail::Names<Collective>::list);
  same("/$defs/table/properties/dtype", detail::Names<DType>::list);
  same("/$defs/table/properties/op", detail::Names<Op>::list);
  same("/$defs/table/properties/placement", detail::Names<Placement>::list);
  same("/$defs/table/properties/memory", detail::Names<Memory>::list);
  same("/$defs/table/properties/launch_mode", detail::Names<LaunchMode>::list);
  same("/$defs/table/properties/numerics", detail::Names<Numerics>::list);
  same("/$defs/table/properties/epilogue", detail::Names<EpilogueKind>::list);
  same("/$defs/rule/properties/confidence", detail::Names<Confidence>::list);
}

/// Every property that the schema names is one that the loader knows, wherever it stands.
TEST(Table, TheLoaderKnowsEveryKeyOfTheSchema) {
  const Json schema = testing::load_schema("dispatch-table.schema.json").root();
  const std::pair<const char*, const char*> places[] = {{"/properties", ""},
                                                        {"/$defs/hardware/properties", "/hardware"},
                                                        {"/$defs/software/properties", "/software"},
                                                        {"/$defs/source/properties", "/source"},
                                                        {"/$defs/table/properties", "/tables/0"},
                                                        {"/$defs/rule/properties", "/tables/0/rules/0"}};
  for (const auto& [properties, place] : places)
    for (const auto& [key, ignored] : schema.at(Json::json_pointer(properties)).items()) {
      Json json = example();
      json[Json::json_pointer(std::string(place) + "/" + key)] = nullptr;
      EXPECT_EQ(fault_of(json.dump()).find("unknown key"), std::string::npos) << place << " " << key;
    }
}

TEST(Table, ATableMayNotStandTwice) {
  Json json = example();
  json["tables"].push_back(json["tables"][0]);
  EXPECT_NE(fault_of(json.dump())
                .find("/tables/2: the table allreduce f32 sum ranks=2 out_of_place registered eager "
                      "rank_order stands already at /tables/0"),
            std::string::npos)
      << fault_of(json.dump());
}

TEST(Table, AKeyMayNotStandTwice) {
  EXPECT_NE(fault_of(R"({"format": "attune-dispatch", "format": "attune-dispatch"})").find("'format' stands twice"),
            std::string::npos);
}

TEST(Table, EveryTruncationIsRefused) {
  std::string text = to_text(parse_table(example().dump(), "t.json", limits));
  while (!text.empty() && text.back() != '}') text.pop_back();
  for (std::size_t length = 0; length < text.size(); ++length)
    ASSERT_NE(fault_of(text.substr(0, length)), "") << "loaded the first " << length << " bytes";
  EXPECT_NE(fault_of(text.substr(0, text.size() / 2)).find("truncated"), std::string::npos);
  EXPECT_EQ(fault_of(text), "");
}

TEST(Table, DeepNestingIsRefusedNotACrash) {
  EXPECT_NE(fault_of(std::string(200000, '[')).find("nested deeper"), std::string::npos);
}

/// Bytes changed at random (seeded): a table that loads at all round-trips, everything else is an Error.
TEST(Table, DamagedBytesNeverCrash) {
  const std::string text = example().dump();
  std::mt19937 random(20261129);
  int loaded = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = text;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    try {
      const Table table = parse_table(damaged, "t.json", limits);
      ASSERT_EQ(parse_table(to_text(table), "again", limits), table) << damaged;
      ++loaded;
    } catch (const Error& error) {
      ASSERT_EQ(error.status(), Status::usage);
    }
  }
  EXPECT_GT(loaded, 0);
}

TEST(Table, TheHashIsOfDecisionsAlone) {
  const Table table = parse_table(example().dump(), "t.json", limits);
  Table other = table;
  std::swap(other.tables[0], other.tables[1]);
  other.tables[1].rules[0].time_us = 7;
  other.hardware.name = "another";
  EXPECT_EQ(decision_hash(other), decision_hash(table));
  const std::array<std::function<void(Rule&)>, 5> changes{
      [](Rule& rule) { rule.min_bytes += 1; }, [](Rule& rule) { rule.plan.variant = "ring"; },
      [](Rule& rule) { rule.plan.blocks += 1; }, [](Rule& rule) { rule.plan.threads += 1; },
      [](Rule& rule) { rule.plan.chunk_bytes += 1; }};
  for (const auto& change : changes) {
    Table changed = table;
    change(changed.tables[0].rules[1]);
    EXPECT_NE(decision_hash(changed), decision_hash(table));
  }
  Table other_key = table;
  other_key.tables[0].key.op = Op::max;
  EXPECT_NE(decision_hash(other_key), decision_hash(table));
}

TEST(Table, FilesThatCannotBeReadAreNamed) {
  const auto folder = std::filesystem::temp_directory_path();
  EXPECT_THROW((void)load_table((folder / "attune-no-such-table.json").string(), limits), Error);
  EXPECT_THROW((void)load_table(folder.string(), limits), Error);
}

TEST(Table, NumericsClassesWiden) {
  EXPECT_TRUE(admits(Numerics::rank_order, Numerics::rank_order));
  EXPECT_FALSE(admits(Numerics::rank_order, Numerics::per_hop));
  EXPECT_TRUE(admits(Numerics::per_hop, Numerics::rank_order));
  EXPECT_FALSE(admits(Numerics::per_hop, Numerics::in_switch));
  for (const Numerics allowed : all_of<Numerics>()) EXPECT_TRUE(admits(allowed, Numerics::vendor));
  EXPECT_FALSE(admits(Numerics::vendor, Numerics::rank_order));
}

}  // namespace
}  // namespace attune
