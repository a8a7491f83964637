#include "analyzer/cli/launch/python_version.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace plateau::cli {
namespace {

namespace fs = std::filesystem;

class PythonVersionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "python-version-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  PythonVersion Of(const std::string& name) {
    std::ofstream(folder_ / name) << "";
    return VersionOfPython((folder_ / name).string());
  }

  fs::path folder_;
};

TEST_F(PythonVersionTest, KnownVersionsHaveFrames) {
  for (const char* name : {"python3.8", "python3.9", "python3.14", "python3.15"}) {
    EXPECT_TRUE(Of(name).has_frames) << name;
    EXPECT_FALSE(Of(name).free_threaded) << name;
  }
  EXPECT_EQ(PythonsWithFrames(), "3.8 to 3.15");
}

TEST_F(PythonVersionTest, OthersHaveNone) {
  for (const char* name : {"python3.7", "python3.16", "python3.14t", "python3.11-dbg", "python3."}) {
    EXPECT_TRUE(Of(name).is_python) << name;
    EXPECT_FALSE(Of(name).has_frames) << name;
  }
  EXPECT_TRUE(Of("python3.14t").free_threaded);
}

TEST_F(PythonVersionTest, LinksAreFollowed) {
  Of("python3.12");
  fs::create_symlink("python3.12", folder_ / "python3");
  fs::create_symlink("python3", folder_ / "python");
  EXPECT_EQ(VersionOfPython((folder_ / "python").string()).name, "python3.12");
}

TEST_F(PythonVersionTest, AnythingElseIsNoPython) {
  EXPECT_FALSE(Of("train").is_python);
  EXPECT_FALSE(Of("python2.7").is_python);
  EXPECT_FALSE(VersionOfPython((folder_ / "missing").string()).is_python);
}

}  // namespace
}  // namespace plateau::cli
