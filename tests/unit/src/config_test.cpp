/// Configurations: defaults, ranges, and for each fault one line with a JSON pointer and what was expected.
#include "src/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/sweep_cases.h"
#include "tests/support/json_schema.h"

namespace attune::driver {
namespace {

SweepConfig parse_text(const std::string& text, int world = 4) {
  return parse_config(parse_json(text, "test.json"), "test.json", {world});
}

std::string fault_of(const std::string& text, int world = 4) {
  try {
    (void)parse_text(text, world);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::usage);
    return error.what();
  }
  return "accepted";
}

TEST(Config, EveryKeyHasADefault) {
  const SweepConfig config = parse_text("{}");
  EXPECT_EQ(config.sizes.front(), 8);
  EXPECT_EQ(config.sizes.back(), 64 << 20);
  EXPECT_EQ(config.ranks, std::vector{4});
  EXPECT_EQ(config.dtypes, std::vector{DType::f32});
  EXPECT_EQ(config.search, Search::exhaustive);
}

TEST(Config, ReadsSizesAsTextsNumbersAndRanges) {
  const SweepConfig config = parse_text(R"({"sizes": ["64K", 12, {"from": "8", "to": 32, "factor": 2}, "8"]})");
  EXPECT_EQ(config.sizes, (std::vector<Bytes>{8, 12, 16, 32, 65536}));
  EXPECT_EQ(parse_text(R"({"sizes": {"from": 1, "to": "1M", "factor": 1024}})").sizes,
            (std::vector<Bytes>{1, 1024, 1 << 20}));
}

TEST(Config, ReadsBudgets) {
  EXPECT_EQ(parse_text(R"({"budget": "10m"})").budget_s, 600);
  EXPECT_EQ(parse_text(R"({"budget": "90s"})").budget_s, 90);
  EXPECT_EQ(parse_text(R"({"budget": 1.5})").budget_s, 1.5);
}

struct Bad {
  const char* text;
  const char* message;
};
class BadConfigs : public ::testing::TestWithParam<Bad> {};
TEST_P(BadConfigs, AreRefusedWithPlaceAndRemedy) {
  const std::string fault = fault_of(GetParam().text);
  EXPECT_NE(fault.find(GetParam().message), std::string::npos) << fault;
  EXPECT_TRUE(fault.starts_with("test.json: ")) << fault;
  EXPECT_EQ(fault.find('\n'), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(
    All, BadConfigs,
    ::testing::Values(Bad{R"({"bloks": [1]})", "/bloks: unknown key 'bloks', did you mean 'blocks'?"},
                      Bad{R"({"sizes": ["8Q"]})", "/sizes/0: '8Q' is not a size"},
                      Bad{R"({"sizes": [-8]})", "/sizes/0: expected an integer from 0"},
                      Bad{R"({"sizes": []})", "/sizes: the list is empty"},
                      Bad{R"({"sizes": "8"})", "/sizes: expected a list"},
                      Bad{R"({"sizes": {"from": "8", "to": "4"}})", "/sizes/to: expected at least `from`"},
                      Bad{R"({"sizes": {"from": "0", "to": "4"}})", "/sizes/from: expected at least 1 byte"},
                      Bad{R"({"sizes": {"from": "8", "to": "64", "facto": 2}})", "did you mean 'factor'?"},
                      Bad{R"({"dtypes": ["f33"]})", "/dtypes/0: unknown dtype 'f33', did you mean 'f32'?"},
                      Bad{R"({"dtypes": "f32"})", "/dtypes: expected a list"},
                      Bad{R"({"dtypes": [32]})", "/dtypes/0: expected a text, got 32"},
                      Bad{R"({"ranks": [8]})", "/ranks/0: 8 ranks, but 4 were launched; use mpirun -n 8"},
                      Bad{R"({"ranks": [0]})", "/ranks/0: expected an integer from 1"},
                      Bad{R"({"ranks": [2.5]})", "/ranks/0: expected an integer"},
                      Bad{R"({"blocks": [0]})", "/blocks/0: expected an integer from 1"},
                      Bad{R"({"chunks": ["1K", 3]})", "/chunks/1: a chunk is made of whole packs"},
                      Bad{R"({"shapes": [[1099511627776, 1048576]]})", "/shapes/0: expected at most"},
                      Bad{R"({"threads": [2]})", "/threads/0: a block has 1 thread on host"},
                      Bad{R"({"variants": ["messh"]})", "/variants/0: unknown variant 'messh', did you mean 'mesh'?"},
                      Bad{R"({"shapes": [[1, 2, 3]]})", "/shapes/0: expected [rows, cols]"},
                      Bad{R"({"shapes": [[0, 2]]})", "/shapes/0/0: expected an integer from 1"},
                      Bad{R"({"collectives": ["reduce_scatter_rms_norm"]})", "/shapes: fused kernels need shapes"},
                      Bad{R"({"search": "guess"})", "/search: unknown search 'guess'"},
                      Bad{R"({"precision": 0})", "/precision: expected a number from"},
                      Bad{R"({"budget": "10x"})", "/budget: expected a time such as"},
                      Bad{R"({"seed": "a"})", "/seed: expected"}, Bad{R"([1])", "expected an object"}));

TEST(Config, RemembersEverything) {
  const SweepConfig config = parse_text(R"({"sizes": ["1K"], "ranks": [2, 4], "budget": "1m", "search": "racing"})");
  const Json json = to_json(config);
  EXPECT_EQ(to_json(parse_config(json, "again", {4})).dump(), [&] {
    Json same = json;
    return same.dump();
  }());
}

TEST(Config, ThoseOfTheProjectAreReadAndFollowTheSchema) {
  const auto schema = attune::testing::load_schema("sweep-config.schema.json");
  const std::filesystem::path folder = std::filesystem::path(std::getenv("ATTUNE_SOURCE_DIR")) / "configs";
  int found = 0;
  for (const char* name : {"quick.json", "full.json", "llm-shapes.json", "openmpi.json", "cuda.json", "nccl.json"}) {
    std::ifstream file(folder / name);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    EXPECT_EQ(schema.fault(Json::parse(text)), std::nullopt) << name;
    EXPECT_NO_THROW((void)parse_config(parse_json(text, name), name, {2}));
    ++found;
  }
  EXPECT_EQ(found, 6);
}

TEST(Config, TheSchemaKnowsEveryKeyAndRefusesWhatTheReaderRefuses) {
  const auto schema = attune::testing::load_schema("sweep-config.schema.json");
  const Json all = to_json(parse_text("{}"));
  for (const auto& [key, value] : all.items()) EXPECT_TRUE(schema.root()["properties"].contains(key)) << key;
  for (const char* text : {R"({"bloks": [1]})", R"({"sizes": []})", R"({"dtypes": ["f33"]})", R"({"ranks": [0]})",
                           R"({"shapes": [[1, 2, 3]]})", R"({"search": "guess"})", R"({"precision": 0})"})
    EXPECT_NE(schema.fault(Json::parse(text)), std::nullopt) << text;
}

TEST(Cases, AreTheProductOfTheAxes) {
  const SweepConfig config =
      parse_text(R"({"sizes": ["1K", "2K"], "dtypes": ["f32", "bf16"], "placements": ["in_place", "out_of_place"]})");
  const auto groups = groups_of(config, 2);
  EXPECT_EQ(groups.size(), 4U);
  for (const auto& group : groups) EXPECT_EQ(group.problems.size(), 2U);
  EXPECT_EQ(groups[2].problems[0].bytes(), 1024) << "sizes are bytes whatever the dtype";
}

TEST(Cases, PlansKeepToEachVariantsOwnSearchSpace) {
  const SweepConfig config = parse_text(R"({"blocks": [1, 2], "chunks": [0, "16K", "1M"]})");
  const auto plans = plans_of(config, {.count = 16384, .ranks = 2}, 8);
  const auto has = [&](const Plan& plan) { return std::find(plans.begin(), plans.end(), plan) != plans.end(); };
  EXPECT_TRUE(has({.variant = "mesh", .blocks = 2}));
  EXPECT_FALSE(has({.variant = "mesh", .blocks = 1, .chunk_bytes = 16384})) << "mesh has no chunks";
  EXPECT_TRUE(has({.variant = "ring", .blocks = 1, .chunk_bytes = 16384}));
  EXPECT_FALSE(has({.variant = "ring", .blocks = 1, .chunk_bytes = 1 << 20})) << "longer than the message";
  EXPECT_TRUE(has({.variant = "vendor"}));
  EXPECT_FALSE(has({.variant = "vendor", .blocks = 2}));
}

TEST(Cases, TheVendorIsAlwaysMeasured) {
  const auto plans = plans_of(parse_text(R"({"variants": ["mesh"], "blocks": [1]})"), {.count = 4, .ranks = 2}, 2);
  EXPECT_EQ(plans.size(), 2U);
}

}  // namespace
}  // namespace attune::driver
