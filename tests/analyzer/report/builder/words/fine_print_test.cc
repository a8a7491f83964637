#include "analyzer/report/builder/words/fine_print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/report/builder/words/headline_text.h"

namespace plateau::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using verdict::Verdict;
using verdict::VerdictKind;

constexpr double kMiB = 1 << 20;

series::RunContext EightGiB() {
  series::RunContext run;
  run.steps = 400;
  run.seconds_per_step = 0.1;
  run.limit_bytes = 8192 * kMiB;
  run.limit_source = series::LimitSource::kCgroup;
  return run;
}

Verdict Leak() {
  Verdict v;
  v.kind = VerdictKind::kLeak;
  v.rate_bytes_per_step = {1.03 * kMiB, Interval{1.0 * kMiB, 1.1 * kMiB}};
  v.forecast.if_leak = {5100.2, 4700.0, 5600.0};
  v.evidence.objects_per_step = 1;
  v.evidence.maturity_steps = 2;
  return v;
}

TEST(FinePrintTest, OfALeakHedgesTheHeadlineAndRepeatsNoNumberOfIt) {
  EXPECT_EQ(
      FinePrint(Leak(), EightGiB()),
      "The rate is 1.00-1.10 MiB/step, or 1 object a step; nothing older than 2 steps was freed. At this "
      "pace the limit is reached in about 8 min. A cache that is not full yet would look the same.");
  const std::string headline = HeadlineText(Leak(), EightGiB(), "a.py:1 in f");
  for (const char* number : {"1.03 MiB", "8.00 GiB", "5,100", "4,700-5,600"}) {
    EXPECT_THAT(headline, HasSubstr(number));
    EXPECT_THAT(FinePrint(Leak(), EightGiB()), Not(HasSubstr(number)));
  }
}

TEST(FinePrintTest, WithoutAnIntervalAPaceOrALimitThereAreNoWordsAboutThem) {
  Verdict v = Leak();
  v.rate_bytes_per_step->interval.reset();
  v.evidence.objects_per_step.reset();
  v.forecast.if_leak.reset();
  EXPECT_EQ(FinePrint(v, {}),
            "Nothing older than 2 steps was freed. A cache that is not full yet would look the same.");
}

TEST(FinePrintTest, GrowthByAClockWithoutStepsRepeatsNoNumberOfTheHeadline) {
  Verdict v;
  v.kind = VerdictKind::kUnboundedGrowth;
  v.sentence = "Grew to the end of the run at s.py:9 in serve, by 2.00 MiB/s.";
  v.evidence.rate_bytes_per_second = 2 * kMiB;
  v.evidence.rate_bytes_per_gib = 5 * kMiB;
  v.evidence.seconds_to_limit = 4080;
  v.evidence.entries = 640;
  v.evidence.retained_bytes = 12 * kMiB;
  EXPECT_EQ(
      FinePrint(v, EightGiB()),
      "That is 5.00 MiB for each GiB that was allocated. No step or pass over data was seen, so it may be a "
      "cache that is not full yet; it would hold more than 640 objects (12.0 MiB).");
}

TEST(FinePrintTest, StepsThatAreRoundsAreCalledSo) {
  series::RunContext run = EightGiB();
  run.unit = series::StepUnit::kRound;
  EXPECT_THAT(FinePrint(Leak(), run), HasSubstr("MiB/round, or 1 object a round"));
}

TEST(FinePrintTest, AStaircaseSaysHowManyEventsDidIt) {
  Verdict v = Leak();
  v.kind = VerdictKind::kStaircase;
  v.evidence.event_count = 11;
  v.evidence.events_retaining = 10;
  v.evidence.event = "eval";
  EXPECT_EQ(FinePrint(v, EightGiB()),
            "10 of 11 evaluations did so. At this pace the limit is reached in about 8 min.");
  v.evidence.events_retaining = 11;
  EXPECT_THAT(FinePrint(v, EightGiB()), HasSubstr("All 11 evaluations did so."));
}

TEST(FinePrintTest, AnUndecidedGrowthSaysWhyAndWhetherMemoryRunsOutEitherWay) {
  Verdict v = Leak();
  v.kind = VerdictKind::kInconclusive;
  v.reason = verdict::Reason::kFirstPass;
  v.why = "the first pass over the data has not ended";
  v.forecast.outcome = verdict::Outcome::kOomEitherWay;
  EXPECT_EQ(FinePrint(v, EightGiB()),
            "It is undecided because the first pass over the data has not ended. The rate is 1.00-1.10 "
            "MiB/step. Memory "
            "runs out "
            "either way.");
}

TEST(FinePrintTest, WithoutAStepsRateTheSentenceStands) {
  Verdict v;
  v.kind = VerdictKind::kUnboundedGrowth;
  v.sentence = "Grew to the end.";
  EXPECT_EQ(FinePrint(v, EightGiB()), "Grew to the end.");
}

TEST(FinePrintTest, GarbageIsNamed) {
  Verdict v = Leak();
  v.evidence.garbage_share = 0.4;
  EXPECT_THAT(FinePrint(v, EightGiB()),
              HasSubstr("same. 40 % of it is garbage in cycles that wait for Python's"));
}

}  // namespace
}  // namespace plateau::report
