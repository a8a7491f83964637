#include "analyzer/verdict/method/replaced.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include "analyzer/verdict/method/site_classifier.h"
#include "analyzer/verdict/words/next_step.h"
#include "analyzer/verdict/words/sentence.h"

namespace plateau::verdict {
namespace {

constexpr double kMiB = 1024 * 1024;

series::RunContext RunOf(int64_t steps) {
  series::RunContext run;
  run.steps = steps;
  run.reference_bytes = 100 * kMiB;
  return run;
}

// One object in each step, of the size that `bytes` says; it replaces that of the step before.
series::SiteSeries Replaced(int steps, const std::function<double(int)>& bytes) {
  series::SiteSeries site(steps);
  for (int step = 1; step <= steps; ++step) {
    site.alloc_bytes[step] = bytes(step);
    site.alloc_count[step] = 1;
    if (step == 1) continue;
    site.free_bytes[step] = bytes(step - 1);
    site.free_count[step] = 1;
    site.death_bytes[1] += bytes(step - 1);
    site.death_count[1] += 1;
  }
  site.surv_bytes[steps] = bytes(steps);
  site.surv_count[steps] = 1;
  return site;
}

TEST(ReplacedTest, ATensorThatIsJoinedInEveryStepGrowsWithoutBound) {
  const Verdict verdict = ClassifySite(Replaced(400, [](int step) { return step * 16384.0; }), RunOf(400));
  EXPECT_EQ(verdict.kind, VerdictKind::kUnboundedGrowth);
  ASSERT_TRUE(verdict.rate_bytes_per_step.has_value());
  EXPECT_NEAR(verdict.rate_bytes_per_step->value, 16384, 200);
  ASSERT_TRUE(verdict.evidence.replaced_bytes.has_value());
}

TEST(ReplacedTest, TheSentenceNamesTheHabitAndTheAdviceTheWayOut) {
  Verdict verdict = ClassifySite(Replaced(400, [](int step) { return step * 16384.0; }), RunOf(400));
  Explain(RunOf(400), &verdict);
  EXPECT_NE(verdict.sentence.find("replaced by a larger one"), std::string::npos) << verdict.sentence;
  EXPECT_NE(NextStep(verdict).find("join them once"), std::string::npos);
}

TEST(ReplacedTest, PartsOfAllocatedBytesBendTheRiseAndItIsStillSeen) {
  // With equal parts of bytes as its clock, an object that is copied in every round grows with the root of time.
  const Verdict verdict =
      ClassifySite(Replaced(100, [](int part) { return std::sqrt(part) * kMiB; }), RunOf(100));
  EXPECT_EQ(verdict.kind, VerdictKind::kUnboundedGrowth);
}

TEST(ReplacedTest, BatchesOfRandomSizeAreNot) {
  uint32_t state = 1;
  const Verdict verdict = ClassifySite(Replaced(400,
                                                [&](int) {
                                                  state = state * 1664525 + 1013904223;
                                                  return kMiB * (1 + (state >> 24) / 64.0);
                                                }),
                                       RunOf(400));
  EXPECT_NE(verdict.kind, VerdictKind::kUnboundedGrowth);
}

TEST(ReplacedTest, ABufferThatGrewAtTheBeginIsNot) {
  const auto grown_early = [](int step) { return std::min(step, 60) * 0.2 * kMiB; };
  EXPECT_FALSE(JudgeReplaced(Replaced(400, grown_early), RunOf(400)).has_value());
}

TEST(ReplacedTest, AnObjectThatIsLevelIsNot) {
  EXPECT_FALSE(JudgeReplaced(Replaced(400, [](int) { return 8 * kMiB; }), RunOf(400)).has_value());
}

TEST(ReplacedTest, ARiseThatIsNotMaterialIsNotHeadlined) {
  EXPECT_FALSE(JudgeReplaced(Replaced(400, [](int step) { return step * 100.0; }), RunOf(400)).has_value());
}

TEST(ReplacedTest, AFewRoundsAreTooFew) {
  EXPECT_FALSE(JudgeReplaced(Replaced(30, [](int step) { return step * kMiB; }), RunOf(30)).has_value());
}

}  // namespace
}  // namespace plateau::verdict
