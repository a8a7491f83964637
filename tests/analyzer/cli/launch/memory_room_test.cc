#include "analyzer/cli/launch/memory_room.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace plateau::cli {
namespace {

namespace fs = std::filesystem;

class MemoryRoomTest : public ::testing::Test {
 protected:
  MemoryRoomTest()
      : root_(fs::path(::testing::TempDir()) /
              ("room-" + std::to_string(getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    Write("proc/meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n");
    Write("proc/vmstat", "nr_free_pages 1\noom_kill 3\n");
  }
  ~MemoryRoomTest() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  MemoryRoom Room() const { return MemoryRoom(root_ / "proc", root_ / "cgroup"); }

  fs::path root_;
};

TEST_F(MemoryRoomTest, WithoutACgroupTheMachineIsTheLimit) {
  const MemoryUse use = Room().Now();
  EXPECT_EQ(use.whose, "the machine");
  EXPECT_NEAR(use.UsedShare(), 0.5, 1e-9);
}

TEST_F(MemoryRoomTest, TheTightestGroupOfVersionTwoCountsWithoutReclaimableFiles) {
  Write("proc/self/cgroup", "0::/slurm/job_7\n");
  Write("cgroup/slurm/job_7/memory.current", "900\n");
  Write("cgroup/slurm/job_7/memory.stat", "anon 600\nfile 300\ninactive_file 100\n");
  Write("cgroup/slurm/job_7/memory.max", "1000\n");
  Write("cgroup/slurm/memory.current", "5000\n");
  Write("cgroup/slurm/memory.stat", "");
  Write("cgroup/slurm/memory.max", "max\n");
  const MemoryUse use = Room().Now();
  EXPECT_EQ(use.whose, "the cgroup /slurm/job_7");
  EXPECT_EQ(use.used_bytes, 800u);
  EXPECT_DOUBLE_EQ(use.UsedShare(), 0.8);
}

TEST_F(MemoryRoomTest, ALimitOfVersionOneThatMeansNoneIsNone) {
  Write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/job\n1:cpu:/\n0::/\n");
  Write("cgroup/memory/job/memory.usage_in_bytes", "700\n");
  Write("cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 50\n");
  Write("cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Room().Now().whose, "the machine");
  Write("cgroup/memory/job/memory.limit_in_bytes", "1000\n");
  EXPECT_EQ(Room().Now().used_bytes, 650u);
}

TEST_F(MemoryRoomTest, InAContainerOnlyTheRootOfItsGroupsCanBeSeen) {
  Write("proc/self/cgroup", "0::/docker/0123456789\n");
  Write("cgroup/memory.current", "990\n");
  Write("cgroup/memory.max", "1000\n");
  EXPECT_EQ(Room().Now().limit_bytes, 1000u);
}

TEST_F(MemoryRoomTest, KillsOfVersionTwoAreCountedWithTheLimitAndItsHits) {
  Write("proc/self/cgroup", "0::/job\n");
  Write("cgroup/job/memory.current", "10\n");
  Write("cgroup/job/memory.max", "1073741824\n");
  Write("cgroup/job/memory.events", "low 0\nhigh 0\nmax 4\noom 0\noom_kill 0\n");
  const MemoryRoom room = Room();
  const KillCounts before = room.Kills();
  EXPECT_EQ(KillsInWords(before, room.Kills()), "");
  Write("cgroup/job/memory.events", "low 0\nhigh 0\nmax 16\noom 1\noom_kill 1\n");
  EXPECT_EQ(KillsInWords(before, room.Kills()),
            "out of memory: the kernel killed 1 process of the cgroup /job, whose limit of 1.00 GiB was hit "
            "12 times");
}

TEST_F(MemoryRoomTest, KillsOfVersionOneAreInOomControl) {
  Write("proc/self/cgroup", "4:memory:/job\n");
  Write("cgroup/memory/job/memory.usage_in_bytes", "7\n");
  Write("cgroup/memory/job/memory.limit_in_bytes", "1048576\n");
  Write("cgroup/memory/job/memory.failcnt", "0\n");
  Write("cgroup/memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  const MemoryRoom room = Room();
  const KillCounts before = room.Kills();
  Write("cgroup/memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  Write("cgroup/memory/job/memory.failcnt", "1\n");
  EXPECT_EQ(KillsInWords(before, room.Kills()),
            "out of memory: the kernel killed 2 processes of the cgroup /job, whose limit of 1.00 MiB was "
            "hit 1 time");
}

TEST_F(MemoryRoomTest, AKillElsewhereOnTheMachineIsSaidAsSuch) {
  const KillCounts before = Room().Kills();
  Write("proc/vmstat", "oom_kill 4\n");
  EXPECT_EQ(KillsInWords(before, Room().Kills()),
            "out of memory: the kernel killed a process of this machine meanwhile, for want of memory");
}

TEST_F(MemoryRoomTest, NonsenseIsNoLimit) {
  Write("proc/self/cgroup", "garbage\n0::/../../x\n::::\n4:memory:relative\n");
  Write("cgroup/memory.current", "-5\n");
  Write("proc/meminfo", "");
  EXPECT_EQ(Room().Now().UsedShare(), 0);
}

TEST_F(MemoryRoomTest, TheRealFilesAreRead) { EXPECT_GT(MemoryRoom().Now().limit_bytes, 0u); }

}  // namespace
}  // namespace plateau::cli
