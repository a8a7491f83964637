// The logs the project began with, and the page that tells their story.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "analyzer/verdict/cases/case_file.h"

namespace plateau::verdict {
namespace {

using testing::HasSubstr;

std::string Page() {
  std::ifstream file(PLATEAU_SOURCE_DIR "/docs/case-study.md");
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

Defaults TheirRun() {
  Defaults run;
  run.epoch_steps = 663 / 8.0;
  run.examples_per_step = 8;
  run.limit_bytes = 32.0 * (1u << 30);
  return run;
}

VerdictCase Log(const std::string& name, const Defaults& defaults, size_t samples = 1000) {
  auto cases = ReadCaseFile(std::string(PLATEAU_SOURCE_DIR "/tests/analyzer/verdict/logs/") + name, defaults);
  EXPECT_TRUE(cases.ok()) << cases.status();
  VerdictCase log = cases->at(0);
  if (samples < log.curve.step.size()) {
    log.curve.step.resize(samples);
    log.curve.bytes.resize(samples);
    log.run.steps = static_cast<int64_t>(log.curve.step.back());
  }
  return log;
}

TEST(CaseStudyTest, StoppedRunIsInconclusiveWithBothForecasts) {
  const Verdict verdict = RunCase(Log("run1.csv", TheirRun())).verdict;
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(verdict.reason, Reason::kFirstPass);
  ASSERT_TRUE(verdict.forecast.if_cache && verdict.forecast.if_leak);
  EXPECT_EQ(verdict.forecast.outcome, Outcome::kOomOnlyIfLeak);
  EXPECT_THAT(Page(), HasSubstr(verdict.sentence));
}

TEST(CaseStudyTest, FullRunIsAFirstPassFill) {
  const Verdict verdict = RunCase(Log("run2.csv", TheirRun())).verdict;
  EXPECT_EQ(verdict.kind, VerdictKind::kCacheFill);
  EXPECT_NEAR(verdict.knee_step->value, 82.9, 0.1);
  EXPECT_GT(verdict.knee_step->interval->low, 82);
  EXPECT_LT(verdict.knee_step->interval->high, 84);
  EXPECT_NEAR(*verdict.evidence.examples_that_fit, 1380, 10);
  EXPECT_THAT(Page(), HasSubstr(verdict.sentence));
}

TEST(CaseStudyTest, WithoutTheEpochItIsNeverALeak) {
  Defaults run;
  run.limit_bytes = TheirRun().limit_bytes;
  const Verdict verdict = RunCase(Log("run2.csv", run)).verdict;
  EXPECT_EQ(verdict.kind, VerdictKind::kWarmupComplete);
  EXPECT_EQ(verdict.evidence.fill_like, true);
  EXPECT_THAT(Page(), HasSubstr(verdict.sentence));
  EXPECT_EQ(RunCase(Log("run1.csv", run)).verdict.kind, VerdictKind::kInconclusive);
}

TEST(CaseStudyTest, TwoNumbersHaveARateAndNoShape) {
  Defaults run;
  run.limit_bytes = TheirRun().limit_bytes;
  const struct {
    const char* log;
    double mib_per_step;
  } kSimulations[] = {{"simulation_without_cleanup.csv", 296.3}, {"simulation_with_cleanup.csv", -2.0}};
  for (const auto& simulation : kSimulations) {
    const Verdict verdict = RunCase(Log(simulation.log, run)).verdict;
    EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << simulation.log;
    EXPECT_EQ(verdict.reason, Reason::kFewSamples);
    EXPECT_NEAR(verdict.rate_bytes_per_step->value / (1 << 20), simulation.mib_per_step, 0.05);
    EXPECT_THAT(Page(), HasSubstr(verdict.sentence));
  }
}

TEST(CaseStudyTest, NoCutOfTheRunIsCalledALeak) {
  for (size_t samples = 1; samples <= 24; ++samples) {
    const Verdict verdict = RunCase(Log("run2.csv", TheirRun(), samples)).verdict;
    EXPECT_EQ(verdict.kind, samples >= 13 ? VerdictKind::kCacheFill : VerdictKind::kInconclusive) << samples;
    if (verdict.kind == VerdictKind::kInconclusive && samples >= 2) {
      // What it says would decide it does decide it.
      EXPECT_NEAR(*verdict.needs_steps + 10.0 * static_cast<double>(samples), 133, 3) << samples;
    }
  }
}

}  // namespace
}  // namespace plateau::verdict
