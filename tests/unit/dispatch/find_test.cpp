// Which file is loaded when several could be, and what is said of a machine that does not match.
#include "dispatch/find.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/error.h"

namespace attune {
namespace {

class FindTable : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::temp_directory_path() /
            ("attune-find-" + std::string(info->name()) + std::to_string(::getpid()));
    std::filesystem::create_directories(root_);
    here_.name = "this";
    here_.fingerprint = "host-this";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string put(const std::string& path, const std::string& fingerprint = "host-this") {
    const auto file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    Table table;
    table.hardware.name = fingerprint;
    table.hardware.fingerprint = fingerprint;
    std::ofstream(file) << to_text(table);
    return file.string();
  }
  std::string find(const std::string& option = "") {
    const auto environment = [this](const char* name) { return variables_[name]; };
    const auto file = find_table(option, here_, environment, (root_ / "prefix").string());
    return file ? file->found_by + " " + file->path : "nothing";
  }
  FoundTable load(const std::string& option, bool strict) {
    const auto environment = [this](const char* name) { return variables_[name]; };
    return find_and_load_table(option, here_, TableLimits{}, strict, environment, "");
  }

  std::filesystem::path root_;
  Hardware here_;
  std::map<std::string, std::string> variables_;
};

TEST_F(FindTable, FirstTheOptionThenTheVariableThenTheFoldersInOrder) {
  EXPECT_EQ(find(), "nothing");
  const auto prefix = put("prefix/share/attune/tables/host-this.json");
  EXPECT_EQ(find(), "table folder " + prefix);
  variables_["HOME"] = (root_ / "home").string();
  const auto home = put("home/.config/attune/host-this.json");
  EXPECT_EQ(find(), "table folder " + home);
  variables_["XDG_CONFIG_HOME"] = (root_ / "xdg").string();
  EXPECT_EQ(find(), "table folder " + prefix) << "XDG_CONFIG_HOME replaces ~/.config";
  const auto xdg = put("xdg/attune/host-this.json");
  EXPECT_EQ(find(), "table folder " + xdg);
  const auto second = put("b/host-this.json");
  variables_["ATTUNE_TABLE_PATH"] = (root_ / "a").string() + "::" + (root_ / "b").string();
  EXPECT_EQ(find(), "table folder " + second);
  const auto first = put("a/host-this.json");
  EXPECT_EQ(find(), "table folder " + first);
  const auto named = put("named.json");
  variables_["ATTUNE_TABLE"] = named;
  EXPECT_EQ(find(), "ATTUNE_TABLE " + named);
  EXPECT_EQ(find(first), "option " + first);
}

TEST_F(FindTable, NoneAsksForTheBuiltInDefault) {
  put("prefix/share/attune/tables/host-this.json");
  EXPECT_EQ(find("none"), "nothing");
  variables_["ATTUNE_TABLE"] = "none";
  EXPECT_EQ(find(), "nothing");
}

TEST_F(FindTable, ANamedFileThatIsMissingIsAnError) {
  EXPECT_THROW(find((root_ / "missing.json").string()), Error);
  variables_["ATTUNE_TABLE"] = (root_ / "missing.json").string();
  EXPECT_THROW(find(), Error);
}

TEST_F(FindTable, OtherHardwareIsAWarningThatNamesBothAndAnErrorIfStrict) {
  EXPECT_EQ(load(put("same.json"), true).warning, "");
  const auto other = put("other.json", "host-other");
  const auto found = load(other, false);
  EXPECT_EQ(found.file.path, other);
  EXPECT_NE(found.warning.find("'host-other'"), std::string::npos) << found.warning;
  EXPECT_NE(found.warning.find("'this'"), std::string::npos) << found.warning;
  EXPECT_THROW(load(other, true), Error);
}

}  // namespace
}  // namespace attune
