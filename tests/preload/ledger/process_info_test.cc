#include "preload/ledger/process_info.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "preload/base/clock.h"

namespace plateau {
namespace {

using Infos = std::map<std::string, std::string, std::less<>>;

Infos Describe(bool is_forked_child) {
  StartClock();
  Infos infos;
  DescribeProcess(is_forked_child, {&infos, [](void* context, std::string_view key, std::string_view value) {
                                      (*static_cast<Infos*>(context))[std::string(key)] = value;
                                    }});
  return infos;
}

TEST(ProcessInfoTest, SaysWhichProgramThisIs) {
  const Infos infos = Describe(false);
  EXPECT_NE(infos.at("exe").find("/process_info_test"), std::string::npos);
  EXPECT_NE(infos.at("cmdline").find("process_info_test"), std::string::npos);
  EXPECT_EQ(infos.at("parent"), std::to_string(getppid()));
  EXPECT_EQ(infos.at("role"), "main");
  EXPECT_EQ(ReadProgramName().view(), "process_info_test");
}

TEST(ProcessInfoTest, AForkedChildIsAWorker) { EXPECT_EQ(Describe(true).at("role"), "forked worker"); }

TEST(ProcessInfoTest, TheFirstLauncherVariableNamesTheRank) {
  setenv("LOCAL_RANK", "1", 1);
  EXPECT_EQ(Describe(false).at("rank"), "1");
  setenv("RANK", "17", 1);
  const Infos infos = Describe(false);
  EXPECT_EQ(infos.at("rank"), "17");
  EXPECT_EQ(infos.at("env:RANK"), "17");
  unsetenv("RANK");
  unsetenv("LOCAL_RANK");
}

TEST(ProcessInfoTest, SaysWhichPartOfAJobThisIs) {
  setenv("TORCHELASTIC_RESTART_COUNT", "2", 1);
  setenv("SLURM_JOB_ID", "4711", 1);
  const Infos infos = Describe(false);
  EXPECT_EQ(infos.at("job"), "4711");
  EXPECT_EQ(infos.at("env:TORCHELASTIC_RESTART_COUNT"), "2");
  EXPECT_FALSE(infos.at("host").empty());
  unsetenv("TORCHELASTIC_RESTART_COUNT");
  unsetenv("SLURM_JOB_ID");
}

TEST(ProcessInfoTest, VariablesThatChangeMemoryAreRecordedAndOthersAreNot) {
  setenv("MALLOC_ARENA_MAX", "2", 1);
  setenv("PLATEAU_TEST_VARIABLE", "x", 1);
  setenv("SECRET_TOKEN", "y", 1);
  const Infos infos = Describe(false);
  EXPECT_EQ(infos.at("env:MALLOC_ARENA_MAX"), "2");
  EXPECT_EQ(infos.at("env:PLATEAU_TEST_VARIABLE"), "x");
  EXPECT_EQ(infos.count("env:SECRET_TOKEN"), 0u);
}

TEST(ProcessInfoTest, TheFirstProcessClaimsFollowAndItsChildrenSeeThatTheyAreNotIt) {
  char first[] = "PLATEAU_FOLLOW=0";
  char* environment[] = {first, nullptr};
  EXPECT_TRUE(FollowOnlyThisProcess(environment));
  EXPECT_EQ(std::string(environment[0]), "PLATEAU_FOLLOW=0:" + std::to_string(getpid()));
  EXPECT_TRUE(FollowOnlyThisProcess(environment));  // the same process after an exec
  char other[] = "PLATEAU_FOLLOW=0:1";
  char* of_child[] = {other, nullptr};
  EXPECT_FALSE(FollowOnlyThisProcess(of_child));
}

TEST(ProcessInfoTest, ARelativeDirectoryIsPinnedToWhereTheProcessStarted) {
  char relative[] = "PLATEAU_OUT=rec";
  char* environment[] = {relative, nullptr};
  PinDirectory(environment);
  char* here = get_current_dir_name();
  EXPECT_EQ(std::string(environment[0]), std::string("PLATEAU_OUT=") + here + "/rec");
  free(here);
  ASSERT_EQ(mkdir("100%here", 0700), 0);
  ASSERT_EQ(chdir("100%here"), 0);
  char there[] = "PLATEAU_OUT=%h";
  char* below[] = {there, nullptr};
  PinDirectory(below);
  EXPECT_TRUE(std::string(below[0]).ends_with("/100%%here/%h")) << below[0];
  ASSERT_EQ(chdir(".."), 0);
  rmdir("100%here");
  char absolute[] = "PLATEAU_OUT=/tmp/rec";
  char* unchanged[] = {absolute, nullptr};
  PinDirectory(unchanged);
  EXPECT_EQ(unchanged[0], absolute);
}

}  // namespace
}  // namespace plateau
