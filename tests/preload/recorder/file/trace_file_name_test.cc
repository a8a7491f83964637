#include "preload/recorder/file/trace_file_name.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gtest/gtest.h"

namespace plateau {
namespace {

class TraceFileNameTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/trace_file_name_test.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    top_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  // The path of a new file; empty when it could not be made.
  std::string Create(const std::string& directory, const char* program) {
    char path[4096] = "";
    const CreatedFile file = CreateTraceFile(directory.c_str(), program, &path);
    error_ = file.fd < 0 ? static_cast<int>(-file.fd) : 0;
    if (file.fd < 0) return "";
    close(static_cast<int>(file.fd));
    return path;
  }

  std::string top_;
  int error_ = 0;
};

TEST_F(TraceFileNameTest, MissingDirectoriesAreMadeForTheOwnerAlone) {
  const std::string path = Create(top_ + "/a/b", "train");
  ASSERT_FALSE(path.empty());
  EXPECT_EQ(path.rfind(top_ + "/a/b/train." + std::to_string(getpid()) + ".", 0), 0u) << path;
  EXPECT_EQ(std::filesystem::path(path).extension(), ".plt");
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat((top_ + "/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(TraceFileNameTest, ProgramNamesAreCleanedAndCut) {
  EXPECT_NE(Create(top_, "my pro/gram").find("/my_pro_gram."), std::string::npos);
  EXPECT_NE(Create(top_, "").find("/program."), std::string::npos);
  const std::string longest = Create(top_, std::string(200, 'x').c_str());
  EXPECT_NE(longest.find("/" + std::string(64, 'x') + "."), std::string::npos) << longest;
}

TEST_F(TraceFileNameTest, TwoFilesOfOneProcessHaveTwoNames) {
  EXPECT_NE(Create(top_, "train"), Create(top_, "train"));
}

TEST_F(TraceFileNameTest, RelativeDirectoriesBecomeAbsolute) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(top_);
  const std::string path = Create("here", "train");
  std::filesystem::current_path(before);
  EXPECT_EQ(path.rfind(top_ + "/here/train.", 0), 0u) << path;
}

TEST_F(TraceFileNameTest, DirectoryThatCannotBeMadeIsAnError) {
  EXPECT_EQ(Create("/proc/nowhere", "train"), "");
  EXPECT_EQ(error_, ENOENT);
}

}  // namespace
}  // namespace plateau
