#include "analyzer/base/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace plateau {
namespace {

std::string TemporaryPath(const char* name) { return ::testing::TempDir() + name + std::to_string(getpid()); }

void WriteText(const std::string& path, const std::string& text) {
  FILE* file = std::fopen(path.c_str(), "w");
  std::fputs(text.c_str(), file);
  std::fclose(file);
}

TEST(InputFileTest, MissingFileIsNotFound) {
  EXPECT_EQ(InputFile::Open("/nonexistent/x").status().code(), absl::StatusCode::kNotFound);
}

TEST(InputFileTest, DirectoryAndPipeAreRefusedWithoutWaiting) {
  EXPECT_EQ(InputFile::Open("/tmp").status().code(), absl::StatusCode::kFailedPrecondition);
  const std::string pipe = TemporaryPath("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(InputFile::Open(pipe).status().code(), absl::StatusCode::kFailedPrecondition);
  unlink(pipe.c_str());
}

TEST(InputFileTest, FileThatShrinksWhileReadGivesFewerBytes) {
  const std::string path = TemporaryPath("shrinks");
  WriteText(path, "0123456789");
  auto file = InputFile::Open(path);
  ASSERT_TRUE(file.ok());
  char buffer[16];
  EXPECT_EQ(*file->Read(2, buffer, sizeof(buffer)), 8u);
  ASSERT_EQ(truncate(path.c_str(), 4), 0);
  EXPECT_EQ(*file->Read(2, buffer, sizeof(buffer)), 2u);
  EXPECT_EQ(*file->Read(100, buffer, sizeof(buffer)), 0u);
  unlink(path.c_str());
}

TEST(InputFileTest, WindowServesViewsLargerAndSmallerThanItself) {
  const std::string path = TemporaryPath("window");
  WriteText(path, "abcdefghijklmnopqrstuvwxyz");
  auto file = InputFile::Open(path);
  ASSERT_TRUE(file.ok());
  FileWindow window(&*file, 8);
  EXPECT_EQ(window.View(0, 3), "abc");
  EXPECT_EQ(window.View(6, 4), "ghij");
  EXPECT_EQ(window.View(2, 20), "cdefghijklmnopqrstuv");
  EXPECT_EQ(window.View(24, 8), "yz");
  EXPECT_EQ(window.View(30, 8), "");
  unlink(path.c_str());
}

TEST(InputFileTest, ReadsProcFilesWhoseSizeIsZero) {
  const auto text = ReadWholeFile("/proc/self/status");
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("VmRSS"), std::string::npos);
}

}  // namespace
}  // namespace plateau
