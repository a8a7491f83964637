#include "analyzer/cli/launch/directory_name.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace plateau::cli {
namespace {

TEST(DirectoryNameTest, SignsBehindPercentBecomeHostRankJobAndProcess) {
  setenv("RANK", "3", 1);
  setenv("PLATEAU_JOB", "night run/7", 1);
  utsname system;
  ASSERT_EQ(uname(&system), 0);
  EXPECT_EQ(ExpandDirectoryName("rec/%j/%h/%r-%p"),
            std::string("rec/night_run_7/") + system.nodename + "/3-" + std::to_string(getpid()));
  unsetenv("RANK");
  unsetenv("PLATEAU_JOB");
}

TEST(DirectoryNameTest, ADirectoryOfDotsIsNotLeft) {
  setenv("PLATEAU_JOB", "..", 1);
  EXPECT_EQ(ExpandDirectoryName("rec/%j"), "rec/__");
  unsetenv("PLATEAU_JOB");
}

TEST(DirectoryNameTest, ThePatternOfADirectoryExpandsToIt) {
  for (const char* directory : {"/tmp/rec", "/tmp/100%h/%%/x%", "%p"}) {
    EXPECT_EQ(ExpandDirectoryName(DirectoryPattern(directory)), directory);
  }
}

}  // namespace
}  // namespace plateau::cli
