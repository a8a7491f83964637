#include "preload/ledger/job_identity.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "preload/base/options.h"

namespace plateau {
namespace {

std::string Expanded(const std::string& pattern) {
  FixedText<4096> out;
  ExpandDirectory(pattern.c_str(), &out);
  return std::string(out.view());
}

class JobIdentityTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK",
          "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "RAY_JOB_ID", "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE"}) {
      unsetenv(name);
    }
  }
};

TEST_F(JobIdentityTest, SignsBehindPercentBecomeHostRankJobAndProcess) {
  setenv("RANK", "17", 1);
  setenv("SLURM_JOB_ID", "4711", 1);
  utsname system;
  ASSERT_EQ(uname(&system), 0);
  EXPECT_EQ(Expanded("/data/%j/%h/%r-%p"),
            std::string("/data/4711/") + system.nodename + "/17-" + std::to_string(getpid()));
}

TEST_F(JobIdentityTest, WhatIsUnknownIsNamedAsUnknown) {
  EXPECT_EQ(Expanded("rec-%j/%r"), "rec-no-job/no-rank");
}

TEST_F(JobIdentityTest, OtherPercentSignsStay) {
  EXPECT_EQ(Expanded("100%%/a%b/c%"), "100%/a%b/c%");
  EXPECT_EQ(Expanded("plain/path"), "plain/path");
}

TEST_F(JobIdentityTest, ANameCannotLeaveItsDirectory) {
  setenv("SLURM_JOB_ID", "../../etc", 1);
  EXPECT_EQ(Expanded("%j/x"), ".._.._etc/x");
  setenv("SLURM_JOB_ID", "..", 1);
  EXPECT_EQ(Expanded("%j/x"), "__/x");
}

TEST_F(JobIdentityTest, AnEmptyVariableNamesNothing) {
  setenv("RANK", "", 1);
  setenv("OMPI_COMM_WORLD_RANK", "5", 1);
  EXPECT_STREQ(RankOfProcess(), "5");
}

TEST_F(JobIdentityTest, TheSchedulerNamesTheJobBeforeTheLauncher) {
  setenv("TORCHELASTIC_RUN_ID", "none", 1);
  EXPECT_STREQ(JobOfProcess(), "none");
  setenv("SLURM_JOB_ID", "12", 1);
  EXPECT_STREQ(JobOfProcess(), "12");
}

TEST_F(JobIdentityTest, TheUserNamesTheJobBeforeAll) {
  setenv("SLURM_JOB_ID", "12", 1);
  ASSERT_TRUE(g_options.job.Set("ablation-3"));
  EXPECT_STREQ(JobOfProcess(), "ablation-3");
  g_options.job = {};
}

TEST(PodUidTest, IsReadFromPathsOfCgroupsAndMounts) {
  const char* uid = "0a1b2c3d-4e5f-6789-abcd-ef0123456789";
  EXPECT_EQ(PodUidIn("0::/kubepods/burstable/pod0a1b2c3d-4e5f-6789-abcd-ef0123456789/f00\n").view(), uid);
  EXPECT_EQ(
      PodUidIn("0::/kubepods.slice/kubepods-burstable-pod0a1b2c3d_4e5f_6789_abcd_ef0123456789.slice").view(),
      uid);
  EXPECT_EQ(
      PodUidIn("612 598 8:1 /var/lib/kubelet/pods/0a1b2c3d-4e5f-6789-abcd-ef0123456789/etc-hosts /etc/hosts")
          .view(),
      uid);
}

TEST(PodUidTest, IsEmptyOutsideOfPods) {
  EXPECT_EQ(PodUidIn("").size(), 0u);
  EXPECT_EQ(PodUidIn("0::/user.slice/podman-1234.scope").size(), 0u);
  EXPECT_EQ(PodUidIn("/pods/0a1b2c3d-4e5f-6789-abcd-ef012345678").size(), 0u);  // cut
}

}  // namespace
}  // namespace plateau
