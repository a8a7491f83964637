#include "analyzer/report/builder/words/headline_text.h"

#include <gtest/gtest.h>

namespace plateau::report {
namespace {

using verdict::Verdict;
using verdict::VerdictKind;

constexpr double kMiB = 1 << 20;

series::RunContext EightGiB() {
  series::RunContext run;
  run.steps = 400;
  run.limit_bytes = 8192 * kMiB;
  run.limit_source = series::LimitSource::kCgroup;
  return run;
}

Verdict Leak() {
  Verdict v;
  v.kind = VerdictKind::kLeak;
  v.rate_bytes_per_step = {1.03 * kMiB, Interval{1.0 * kMiB, 1.1 * kMiB}};
  v.forecast.if_leak = {5100.2, 4700.0, 5600.0};
  return v;
}

TEST(HeadlineTextTest, ALeakNamesItsLineItsRateAndItsDeadlineInThatOrder) {
  EXPECT_EQ(HeadlineText(Leak(), EightGiB(), "train.py:19 in keep"),
            "train.py:19 in keep keeps 1.03 MiB every step; the cgroup's limit of 8.00 GiB is reached at "
            "step 5,100 "
            "(4,700-5,600)");
}

TEST(HeadlineTextTest, ALateLeakSaysSinceWhen) {
  Verdict v = Leak();
  v.onset_step = 1200;
  v.forecast.if_leak.reset();
  EXPECT_EQ(HeadlineText(v, EightGiB(), "a.py:1 in f"),
            "a.py:1 in f keeps 1.03 MiB every step since step 1,200");
}

TEST(HeadlineTextTest, WithoutALimitThereIsNoDeadline) {
  Verdict v = Leak();
  v.forecast.if_leak->oom_step.reset();
  EXPECT_EQ(HeadlineText(v, {}, "a.py:1 in f"), "a.py:1 in f keeps 1.03 MiB every step");
}

TEST(HeadlineTextTest, StepsThatAreBatchesAreCalledSoButTheSiteKeepsItsName) {
  series::RunContext run = EightGiB();
  run.unit = series::StepUnit::kBatch;
  EXPECT_EQ(
      HeadlineText(Leak(), run, "t.py:3 in step"),
      "t.py:3 in step keeps 1.03 MiB every batch; the cgroup's limit of 8.00 GiB is reached at batch 5,100 "
      "(4,700-5,600)");
}

TEST(HeadlineTextTest, AnUndecidedGrowthSaysWhatDecides) {
  Verdict v = Leak();
  v.kind = VerdictKind::kInconclusive;
  v.reason = verdict::Reason::kFirstPass;
  v.needs_steps = 19.4;
  EXPECT_EQ(HeadlineText(v, EightGiB(), "data.py:4 in load"),
            "data.py:4 in load has kept 1.03 MiB every step so far: a leak, or each example kept once; about "
            "20 more "
            "steps decide it");
}

TEST(HeadlineTextTest, AStaircaseNamesItsEvent) {
  Verdict v = Leak();
  v.kind = VerdictKind::kStaircase;
  v.forecast.if_leak.reset();
  v.evidence.event = "eval";
  v.evidence.per_event_bytes = 57 * kMiB;
  v.evidence.period_steps = 500;
  EXPECT_EQ(HeadlineText(v, {}, ""), "The program keeps 57.0 MiB at every evaluation, about every 500 steps");
}

TEST(HeadlineTextTest, GrowthByAClockWithoutStepsHasSeconds) {
  Verdict v;
  v.kind = VerdictKind::kUnboundedGrowth;
  v.evidence.rate_bytes_per_second = 2 * kMiB;
  v.evidence.seconds_to_limit = 7200;
  EXPECT_EQ(HeadlineText(v, EightGiB(), "s.py:9 in serve"),
            "s.py:9 in serve grew to the end, by 2.00 MiB/s; at this pace the cgroup's limit of 8.00 GiB is "
            "reached in "
            "about 2 h 00 min");
}

TEST(HeadlineTextTest, EveryVerdictHasOne) {
  for (const verdict::VerdictRow& row : verdict::AllVerdicts()) {
    Verdict v = Leak();
    v.kind = row.kind;
    EXPECT_FALSE(HeadlineText(v, EightGiB(), "").empty()) << row.name;
    EXPECT_FALSE(HeadlineText(v, EightGiB(), "a.py:1 in f").empty()) << row.name;
  }
}

TEST(HeadlineTextTest, AFillThatEndsAtABoundSaysSoAndSpeaksOfNoPass) {
  Verdict v;
  v.kind = VerdictKind::kCacheFill;
  v.evidence.container_bound = 1000;
  v.evidence.retained_bytes = 128 * kMiB;
  v.evidence.complete = false;
  v.plateau_bytes = {1000 * kMiB, std::nullopt};
  EXPECT_EQ(
      HeadlineText(v, {}, "a.py:1 in f"),
      "a.py:1 in f fills a container of at most 1,000 items, 128 MiB so far; it will end at about 1000 MiB");
  v.evidence.complete = true;
  EXPECT_EQ(HeadlineText(v, {}, "a.py:1 in f"),
            "a.py:1 in f fills a container of at most 1,000 items, 128 MiB in all; it is full");
  v.evidence.per_example_bytes = kMiB;  // an item for each example: it is the data that ends it
  EXPECT_EQ(
      HeadlineText(v, {}, "a.py:1 in f"),
      "a.py:1 in f keeps each example once, 1.00 MiB each, 128 MiB in all; it ended with the first pass");
}

TEST(HeadlineTextTest, TheAllClearSaysWhatItWouldHaveSeen) {
  Verdict v;
  v.kind = VerdictKind::kSteady;
  v.detectable_bytes_per_step = 644 * 1024;
  EXPECT_EQ(HeadlineText(v, {}, ""), "Nothing grows; a leak of 644 KiB a step would have been seen");
  v.evidence.undecided_site = "data.py:12";
  EXPECT_EQ(HeadlineText(v, {}, ""), "Nothing grows by more than 644 KiB a step");
}

}  // namespace
}  // namespace plateau::report
