/// NCCL's side of the tuner plugin: the library is loaded by name of its symbols and driven as NCCL drives it, through
/// every version of the interface, with hand-made cost tables.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "tuner/nccl_plugin/abi.h"

namespace attune::nccl_plugin {
namespace {

constexpr int tree = 0, ring = 1, nvls = 4, ll = 0, simple = 2;
using Costs = std::array<std::array<float, 3>, 7>;

std::string logged;
void logger(int /*level*/, unsigned long /*flags*/, const char* /*file*/, int /*line*/, const char* format, ...) {
  std::array<char, 1024> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  logged += std::string(text.data()) + "\n";
}

/// The plugin as one of the interface's versions.
struct Plugin {
  int version;
  void* context = nullptr;

  template <class T>
  static const T& symbol(const char* name) {
    static void* const library = ::dlopen(ATTUNE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << ::dlerror();
    return *static_cast<const T*>(::dlsym(library, name));
  }
  static const TunerV4& v4() { return symbol<TunerV4>("ncclTunerPlugin_v4"); }
  static const TunerV5& v5() { return symbol<TunerV5>("ncclTunerPlugin_v5"); }
  static const TunerV6& v6() { return symbol<TunerV6>("ncclTunerPlugin_v6"); }

  int init(std::size_t ranks, std::size_t nodes = 1, Logger log = logger) {
    if (version == 4) return v4().init(ranks, nodes, log, &context);
    return (version == 5 ? v5().init : v6().init)(&context, 7, ranks, nodes, log, nullptr, nullptr);
  }
  int ask(std::size_t bytes, Costs& costs, int& channels, int registered = 1, int collective = allreduce,
          int algorithms = 7, int protocols = 3) const {
    const auto ask = version == 4 ? v4().get_coll_info : version == 5 ? v5().get_coll_info : v6().get_coll_info;
    return ask(context, collective, bytes, 1, reinterpret_cast<float**>(costs.data()), algorithms, protocols,
               registered, &channels);
  }
  int end() {
    const int result = (version == 4 ? v4().destroy : version == 5 ? v5().finalize : v6().finalize)(context);
    context = nullptr;
    return result;
  }
};

/// Costs as NCCL fills them on one node: ring and tree with every protocol, NVLS simple, nothing else.
Costs some_costs() {
  Costs costs;
  for (auto& row : costs) row.fill(ignored);
  costs[tree] = {10, 20, 30};
  costs[ring] = {11, 21, 31};
  costs[nvls][simple] = 25;
  return costs;
}

class NcclPlugin : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    logged.clear();
    folder_ = std::filesystem::path(::testing::TempDir()) / ("attune_plugin_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    ::unsetenv("ATTUNE_TABLE");
    ::setenv("ATTUNE_TABLE_PATH", folder_.c_str(), 1);
    ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void use_table(const std::string& rules, const std::string& more = "") {
    write(R"({"format": "attune-dispatch", "version": 1, "hardware": {"device": "cuda", "fingerprint": "test"},
             "tables": [{"collective": "allreduce", "dtype": "f32", "op": "sum", "ranks": 8, "rules": [)" +
          rules + "]}" + more + "]}");
  }
  void write(const std::string& text) {
    const auto path = folder_ / "table.json";
    std::ofstream(path) << text;
    ::setenv("ATTUNE_TABLE", path.c_str(), 1);
  }

  std::filesystem::path folder_{};
};

constexpr auto three_rules = R"({"min_bytes": 0, "variant": "vendor:nccl/tree/ll/4"},
  {"min_bytes": 65536, "variant": "vendor:nccl/nvls/simple", "blocks": 16},
  {"min_bytes": 1048576, "variant": "two_shot"})";

TEST_P(NcclPlugin, TheTablesChoiceBecomesTheCheapest) {
  use_table(three_rules);
  Plugin plugin{GetParam()};
  ASSERT_EQ(plugin.init(8), success) << logged;
  Costs costs = some_costs();
  int channels = 0;
  EXPECT_EQ(plugin.ask(65535, costs, channels), success);
  EXPECT_EQ(costs[tree][ll], 0);
  EXPECT_EQ(channels, 4);
  costs[tree][ll] = 10;
  EXPECT_EQ(costs, some_costs()) << "one entry changes, no other";
  channels = 0;
  EXPECT_EQ(plugin.ask(65536, costs, channels), success);
  EXPECT_EQ(costs[nvls][simple], 0);
  EXPECT_EQ(channels, 16) << "blocks are NCCL's channels";
  EXPECT_EQ(plugin.end(), success);
}

TEST_P(NcclPlugin, NcclDecidesWhereTheTableDoesNot) {
  use_table(three_rules);
  Plugin plugin{GetParam()};
  ASSERT_EQ(plugin.init(8), success);
  Costs costs = some_costs();
  int channels = 0;
  EXPECT_EQ(plugin.ask(1 << 20, costs, channels), success);  // attune's own variant
  EXPECT_EQ(plugin.ask(std::numeric_limits<std::size_t>::max(), costs, channels), success);
  for (const int other : {0, 1, 2, 3, 5, 6, 7, -1, 99})
    EXPECT_EQ(plugin.ask(8, costs, channels, 1, other), success) << other;
  EXPECT_EQ(costs, some_costs());
  EXPECT_EQ(channels, 0) << "0 keeps NCCL's own number of channels";
  plugin.end();
}

TEST_P(NcclPlugin, WhatIsNotAvailableIsNeverChosen) {
  use_table(
      R"({"min_bytes": 0, "variant": "vendor:nccl/nvls/ll/4"}, {"min_bytes": 64, "variant": "vendor:nccl/ring/ll/4"})");
  Plugin plugin{GetParam()};
  ASSERT_EQ(plugin.init(8), success);
  Costs costs = some_costs();
  int channels = 0;
  EXPECT_EQ(plugin.ask(8, costs, channels), success);
  EXPECT_EQ(costs, some_costs());
  EXPECT_EQ(channels, 0);
  costs[ring][ll] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(plugin.ask(64, costs, channels), success);
  EXPECT_EQ(channels, 0);
  plugin.end();
}

TEST_P(NcclPlugin, SmallerCostTablesAreNotOverrun) {
  use_table(
      R"({"min_bytes": 0, "variant": "vendor:nccl/nvls/simple/4"}, {"min_bytes": 64, "variant": "vendor:nccl/ring/ll128/2"})");
  Plugin plugin{GetParam()};
  ASSERT_EQ(plugin.init(8), success);
  Costs costs = some_costs();
  int channels = 0;
  EXPECT_EQ(plugin.ask(8, costs, channels, 1, allreduce, 4, 3), success);
  EXPECT_EQ(plugin.ask(8, costs, channels, 1, allreduce, 7, 2), success);
  EXPECT_EQ(plugin.ask(64, costs, channels, 1, allreduce, 0, 0), success);
  EXPECT_EQ(costs, some_costs());
  EXPECT_EQ(plugin.ask(64, costs, channels, 1, allreduce, 2, 2), success);  // float[2][2]: ring/ll128 is the fourth
  EXPECT_EQ(costs[1][0], 0);
  EXPECT_EQ(channels, 2);
  plugin.end();
}

TEST_P(NcclPlugin, RegisteredBuffersHaveRulesOfTheirOwn) {
  use_table(R"({"min_bytes": 0, "variant": "vendor:nccl/ring/ll/2"})",
            R"(,{"collective": "allreduce", "dtype": "f32", "op": "sum", "ranks": 8, "memory": "staged",
                "rules": [{"min_bytes": 0, "variant": "vendor:nccl/tree/simple/3"}]})");
  Plugin plugin{GetParam()};
  ASSERT_EQ(plugin.init(8), success);
  Costs costs = some_costs();
  int channels = 0;
  plugin.ask(8, costs, channels, 1);
  EXPECT_EQ(costs[ring][ll], 0);
  plugin.ask(8, costs, channels, 0);
  EXPECT_EQ(costs[tree][simple], 0);
  EXPECT_EQ(channels, 3);
  plugin.end();
}

TEST_P(NcclPlugin, OtherTeamsAreLeftAlone) {
  use_table(three_rules);
  for (const auto& [ranks, nodes] : {std::pair(4, 1), {8, 2}, {1, 1}, {0, 0}}) {
    Plugin plugin{GetParam()};
    ASSERT_EQ(plugin.init(static_cast<std::size_t>(ranks), static_cast<std::size_t>(nodes)), success);
    Costs costs = some_costs();
    int channels = 0;
    EXPECT_EQ(plugin.ask(8, costs, channels), success);
    EXPECT_EQ(costs, some_costs());
    plugin.end();
  }
}

TEST_P(NcclPlugin, MalformedTablesFailInitLoudly) {
  for (const char* text : {"", "{", "[]", "{\"format\": \"attune-dispatch\", \"version\": 9}", "\xff\xfe"}) {
    write(text);
    logged.clear();
    Plugin plugin{GetParam()};
    EXPECT_EQ(plugin.init(8), invalid_usage) << text;
    EXPECT_EQ(plugin.context, nullptr);
    EXPECT_NE(logged.find("table.json"), std::string::npos) << logged;
    Costs costs = some_costs();
    int channels = 0;
    EXPECT_EQ(plugin.ask(8, costs, channels), success) << "even without a context";
    EXPECT_EQ(plugin.end(), success);
  }
  ::setenv("ATTUNE_TABLE", (folder_ / "gone.json").c_str(), 1);
  EXPECT_EQ(Plugin{GetParam()}.init(8), invalid_usage);
}

TEST_P(NcclPlugin, WithoutATableOrALoggerNothingHappens) {
  std::ofstream(folder_ / "broken.json") << "{";  // in a folder: somebody else's business
  for (const char* named : {"none", ""}) {
    ::setenv("ATTUNE_TABLE", named, 1);
    Plugin plugin{GetParam()};
    ASSERT_EQ(plugin.init(8, 1, nullptr), success);
    Costs costs = some_costs();
    int channels = 0;
    EXPECT_EQ(plugin.ask(8, costs, channels), success);
    EXPECT_EQ(costs, some_costs());
    EXPECT_EQ(plugin.end(), success);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, NcclPlugin, ::testing::Values(4, 5, 6),
                         [](const auto& info) { return "v" + std::to_string(info.param); });

TEST(NcclPluginLibrary, ItsNameAndItsOptionalPart) {
  EXPECT_STREQ(Plugin::v4().name, "attune");
  EXPECT_STREQ(Plugin::v6().name, "attune");
  EXPECT_EQ(Plugin::v6().get_chunk_size, nullptr) << "NCCL's own chunk sizes";
}

}  // namespace
}  // namespace attune::nccl_plugin
