// Plans and problems survive the way through JSON, and readers name the place of a fault.
#include "dispatch/json.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(PlanJson, RoundTrips) {
  const Plan plan{.variant = "ring", .blocks = 3, .threads = 256, .chunk_bytes = 65536};
  EXPECT_EQ(plan_from_json(to_json(plan), ""), plan);
  EXPECT_EQ(plan_from_json(Json::parse(R"({"variant": "mesh"})"), ""), (Plan{.variant = "mesh"}));
}

TEST(ProblemJson, RoundTripsOnEveryAxis) {
  for (const Collective collective : all_of<Collective>())
    for (const DType dtype : all_of<DType>())
      for (const Op op : all_of<Op>())
        for (const EpilogueKind epilogue : all_of<EpilogueKind>()) {
          const Problem problem{.collective = collective,
                                .dtype = dtype,
                                .op = op,
                                .count = Index{3} << 32,
                                .rows = 3,
                                .cols = Index{1} << 32,
                                .ranks = 7,
                                .placement = Placement::in_place,
                                .memory = Memory::staged,
                                .launch_mode = LaunchMode::graph,
                                .epilogue = epilogue};
          ASSERT_EQ(problem_from_json(Json::parse(to_json(problem).dump()), ""), problem);
        }
}

TEST(ProblemJson, FaultsNameTheirPlace) {
  const auto message = [](const char* text) -> std::string {
    try {
      (void)problem_from_json(Json::parse(text), "/problem");
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message(R"({"collective": "allreduce", "dtype": "f32", "op": "sum", "ranks": 2})"),
            "/problem/count: this key is missing");
  EXPECT_EQ(message(R"({"collective": "allreduce", "dtype": "f32", "op": "sum", "count": -1, "ranks": 2})"),
            "/problem/count: expected an integer of at least 0, got -1");
  EXPECT_EQ(message(R"({"colective": "allreduce"})"),
            "/problem/colective: unknown key 'colective', did you mean 'collective'?");
}

TEST(ParseJson, SaysLineAndColumn) {
  try {
    (void)parse_json("{\n  \"a\": 1,\n  \"b\": oops\n}", "c.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("c.json: not valid JSON at line 3, column 8"), std::string::npos)
        << error.what();
  }
}

TEST(Nearest, SuggestsLikelySlipsOnly) {
  constexpr std::array<std::string_view, 3> words{"blocks", "threads", "chunks"};
  EXPECT_EQ(nearest_of("bloks", words), "blocks");
  EXPECT_EQ(nearest_of("zzzzzz", words), "");
  constexpr std::array<std::string_view, 2> dtypes{"f32", "i8"};
  EXPECT_EQ(nearest_of("f23", dtypes), "f32");
  EXPECT_EQ(nearest_of("x", dtypes), "") << "no letter of it would be left";
  EXPECT_EQ(nearest_of("", dtypes), "");
  EXPECT_EQ(with_suggestion("zzzzzz", words), "'zzzzzz', expected one of blocks, threads, chunks");
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
}

}  // namespace
}  // namespace attune
