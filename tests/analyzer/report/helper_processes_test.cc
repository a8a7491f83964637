#include "analyzer/report/helper_processes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace plateau::report {
namespace {

// A trainer of 100 s and `count` compilers of one second each.
ReportModel Job(int count) {
  ReportModel model;
  Process trainer;
  trainer.exe = "/usr/bin/python3.11";
  trainer.end_seconds = 100;
  trainer.peak_rss_bytes = 2000 << 20;
  trainer.retained_bytes = 1000 << 20;
  model.processes.push_back(trainer);
  for (int i = 0; i < count; ++i) {
    Process compiler;
    compiler.exe = i % 3 == 0 ? "/usr/bin/ld" : "/usr/lib/gcc/cc1plus";
    compiler.start_seconds = i * 0.1;
    compiler.end_seconds = compiler.start_seconds + 1;
    compiler.peak_rss_bytes = 84 << 20;
    model.processes.push_back(compiler);
  }
  return model;
}

TEST(HelperProcessesTest, AThousandCompilersAreOneLine) {
  const HelperProcesses found = FindHelpers(Job(999));
  EXPECT_FALSE(found.is_helper[0]);
  EXPECT_EQ(std::count(found.is_helper.begin(), found.is_helper.end(), true), 999);
  EXPECT_EQ(found.sentence, "999 helpers came and went (cc1plus 666, ld 333), none above 84.0 MiB.");
}

TEST(HelperProcessesTest, AThousandSmallProcessesOfAShellAreOneLine) {
  ReportModel model = Job(999);
  for (Process& process : model.processes) process.peak_rss_bytes = 3 << 20;  // the shell is no larger
  model.processes[0].retained_bytes = 64 << 10;
  for (size_t i = 1; i < model.processes.size(); ++i) model.processes[i].retained_bytes = 10 << 10;
  const HelperProcesses found = FindHelpers(model);
  EXPECT_FALSE(found.is_helper[0]);
  EXPECT_EQ(std::count(found.is_helper.begin(), found.is_helper.end(), true), 999);
}

TEST(HelperProcessesTest, FewProcessesAreAllShown) {
  const HelperProcesses found = FindHelpers(Job(7));
  EXPECT_EQ(std::count(found.is_helper.begin(), found.is_helper.end(), true), 0);
  EXPECT_EQ(found.sentence, "");
}

TEST(HelperProcessesTest, ARankAGrowingOneALongLivedOneAndALargeOneAreShown) {
  ReportModel model = Job(40);
  model.processes[1].rank = 3;
  model.processes[2].growth_bytes_per_step = 1024;
  model.processes[3].end_seconds = 90;
  model.processes[4].peak_rss_bytes = 1500 << 20;
  model.processes[5].retained_bytes = 100 << 20;
  const HelperProcesses found = FindHelpers(model);
  for (size_t i = 0; i <= 5; ++i) EXPECT_FALSE(found.is_helper[i]) << i;
  EXPECT_TRUE(found.is_helper[6]);
}

}  // namespace
}  // namespace plateau::report
