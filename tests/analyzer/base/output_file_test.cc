#include "analyzer/base/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "analyzer/base/input_file.h"

namespace plateau {
namespace {

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() : folder_(::testing::TempDir() + "output-XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/report.html";
  }
  ~OutputFileTest() override { std::filesystem::remove_all(folder_); }

  static int ModeOf(const std::string& path) {
    struct stat info = {};
    return lstat(path.c_str(), &info) == 0 ? static_cast<int>(info.st_mode & 07777) : -1;
  }
  std::string Text() const { return ReadWholeFile(path_).value_or("[unreadable]"); }
  size_t FilesInFolder() const {
    const std::filesystem::directory_iterator files(folder_);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  std::string folder_, path_;
};

TEST_F(OutputFileTest, NewFileIsForItsOwnerAlone) {
  const mode_t before = umask(0);
  ASSERT_TRUE(WriteWholeFile(path_, "one").ok());
  umask(before);
  EXPECT_EQ(Text(), "one");
  EXPECT_EQ(ModeOf(path_), 0600);
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(OutputFileTest, ReplacedFileIsPrivateWhateverItWas) {
  ASSERT_TRUE(WriteWholeFile(path_, "one").ok());
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  ASSERT_TRUE(WriteWholeFile(path_, "two").ok());
  EXPECT_EQ(Text(), "two");
  EXPECT_EQ(ModeOf(path_), 0600);
}

TEST_F(OutputFileTest, LinkIsReplacedAndItsTargetLeftAlone) {
  const std::string target = folder_ + "/precious";
  ASSERT_TRUE(WriteWholeFile(target, "precious").ok());
  ASSERT_EQ(chmod(target.c_str(), 0666), 0);
  ASSERT_EQ(symlink(target.c_str(), path_.c_str()), 0);
  ASSERT_TRUE(WriteWholeFile(path_, "report").ok());
  EXPECT_EQ(Text(), "report");
  EXPECT_EQ(ModeOf(path_), 0600);
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(path_)));
  EXPECT_EQ(*ReadWholeFile(target), "precious");
}

TEST_F(OutputFileTest, DanglingLinkCreatesNothingElsewhere) {
  const std::string target = folder_ + "/not there";
  ASSERT_EQ(symlink(target.c_str(), path_.c_str()), 0);
  ASSERT_TRUE(WriteWholeFile(path_, "report").ok());
  EXPECT_EQ(Text(), "report");
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(OutputFileTest, WithoutCommitNothingChanges) {
  ASSERT_TRUE(WriteWholeFile(path_, "before").ok());
  {
    absl::StatusOr<OutputFile> file = OutputFile::Create(path_);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write("half").ok());
  }
  EXPECT_EQ(Text(), "before");
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(OutputFileTest, DeviceIsWrittenDirectly) {
  EXPECT_TRUE(WriteWholeFile("/dev/null", "x").ok());
  EXPECT_FALSE(WriteWholeFile("/dev/full", "x").ok());
}

TEST_F(OutputFileTest, FolderAndMissingFolderAreNamed) {
  EXPECT_THAT(std::string(WriteWholeFile(folder_, "x").message()), ::testing::HasSubstr(folder_));
  EXPECT_THAT(std::string(WriteWholeFile(folder_ + "/no/x", "x").message()), ::testing::HasSubstr("/no/x"));
}

}  // namespace
}  // namespace plateau
