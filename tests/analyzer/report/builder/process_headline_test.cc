#include "analyzer/report/builder/process_headline.h"

#include <gtest/gtest.h>

#include <vector>

namespace plateau::report {
namespace {

ProcessHeadline Of(int64_t steps, bool is_worker = false) {
  ProcessHeadline headline;
  headline.steps.count = steps;
  headline.is_worker = is_worker;
  return headline;
}

TEST(ProcessHeadlineTest, TheProcessOfTheVerdictGivesTheTitleAndNotItsLauncher) {
  const std::vector<ProcessHeadline> shell_and_trainer = {Of(0), Of(400)};
  EXPECT_EQ(TitleProcess(shell_and_trainer, 1), 1u);
}

TEST(ProcessHeadlineTest, AWorkerIsTitledByTheProcessThatItServes) {
  const std::vector<ProcessHeadline> job = {Of(0), Of(400), Of(400, true), Of(400, true)};
  EXPECT_EQ(TitleProcess(job, 3), 1u);
}

TEST(ProcessHeadlineTest, AWorkerWithoutATrainerIsTitledByTheFirstProcess) {
  EXPECT_EQ(TitleProcess({Of(0), Of(20, true)}, 1), 0u);
}

}  // namespace
}  // namespace plateau::report
