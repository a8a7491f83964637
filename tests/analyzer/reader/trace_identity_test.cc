#include "analyzer/reader/trace_identity.h"

#include <map>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/trace_text.h"

namespace plateau::reader {
namespace {

TraceIdentity From(const std::map<std::string, std::string>& infos) {
  return IdentityFrom([&infos](const std::string& key) {
    const auto found = infos.find(key);
    return found == infos.end() ? std::string() : found->second;
  });
}

TEST(TraceIdentityTest, TorchKnowsTheRankBeforeLaunchersAndSchedulers) {
  const TraceIdentity slurm = From({{"env:SLURM_PROCID", "1"}, {"rank", "1"}});
  EXPECT_EQ(slurm.rank, 1);
  EXPECT_EQ(slurm.rank_source, RankSource::kScheduler);
  const TraceIdentity torchrun = From({{"env:SLURM_PROCID", "1"}, {"env:RANK", "9"}, {"rank", "9"}});
  EXPECT_EQ(torchrun.rank, 9);
  EXPECT_EQ(torchrun.rank_source, RankSource::kLauncher);
  const TraceIdentity spawned = From({{"env:RANK", "9"}, {"job:rank", "3"}, {"job:world", "8"}});
  EXPECT_EQ(spawned.rank, 3);
  EXPECT_EQ(spawned.world, 8);
}

TEST(TraceIdentityTest, NumbersThatAreNoneAreNotTaken) {
  EXPECT_EQ(From({{"env:RANK", "first"}}).rank, std::nullopt);
  EXPECT_EQ(From({{"env:RANK", "-1"}}).rank, std::nullopt);
  EXPECT_EQ(From({{"env:WORLD_SIZE", "99999999999"}}).world, std::nullopt);
}

TEST(TraceIdentityTest, RestartsOfLauncherAndSchedulerAddUp) {
  EXPECT_EQ(From({{"env:TORCHELASTIC_RESTART_COUNT", "2"}, {"env:SLURM_RESTART_COUNT", "1"}}).attempt, 3);
}

TEST(TraceIdentityTest, GroupsComeFromTheMeshElseFromVariables) {
  EXPECT_EQ(From({{"env:TENSOR_PARALLEL_RANK", "1"}}).group, "tp=1");
  EXPECT_EQ(From({{"env:TENSOR_PARALLEL_RANK", "1"}, {"job:group", "dp=0/2 tp=1/2"}}).group, "dp=0/2 tp=1/2");
}

TEST(TraceIdentityTest, IsReadFromATrace) {
  const std::string path = testing::WriteTemporary("identity.plt", testing::TraceFromText(R"(
header mode=exact pid=100 clean_exit=1
stream 1
info key="host" value="node17"
info key="env:RANK" value="4"
info key="job" value="4711"
seal
info key="job:rank" value="5"
)"));
  const auto who = ReadTraceIdentity(path);
  ASSERT_TRUE(who.ok()) << who.status();
  EXPECT_EQ(who->host, "node17");
  EXPECT_EQ(who->job, "4711");
  EXPECT_EQ(who->rank, 5);
}

TEST(TraceIdentityTest, WhatIsNoTraceIsAnError) {
  EXPECT_FALSE(ReadTraceIdentity(testing::WriteTemporary("no.plt", "nothing")).ok());
}

}  // namespace
}  // namespace plateau::reader
