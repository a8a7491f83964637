#include "analyzer/cli/live/conditions.h"

#include <gtest/gtest.h>

namespace plateau::cli {
namespace {

Condition Parsed(const std::string& text) {
  const auto condition = ParseCondition(text);
  EXPECT_TRUE(condition.ok()) << condition.status();
  return condition.ok() ? *condition : Condition{};
}

report::ReportModel Verdict(const std::string& name) {
  report::ReportModel model;
  model.verdict.name = name;
  return model;
}

TEST(ConditionsTest, ALeakIsWhatCheckFailsOn) {
  const Condition leak = Parsed("leak");
  for (const char* name : {"leak", "slow_leak", "staircase"})
    EXPECT_TRUE(IsFulfilled(leak, Verdict(name))) << name;
  for (const char* name : {"steady", "inconclusive", "unbounded_growth", "cache_fill", "", "new_one"})
    EXPECT_FALSE(IsFulfilled(leak, Verdict(name))) << name;
}

TEST(ConditionsTest, GrowthIsALeakOrWhatNothingHasEnded) {
  for (const char* name : {"leak", "staircase", "unbounded_growth"})
    EXPECT_TRUE(IsFulfilled(Parsed("growth"), Verdict(name))) << name;
  for (const char* name : {"steady", "inconclusive", "fragmentation"})
    EXPECT_FALSE(IsFulfilled(Parsed("growth"), Verdict(name))) << name;
}

TEST(ConditionsTest, UndecidedGrowthMustGrow) {
  const Condition undecided = Parsed("undecided-growth");
  report::ReportModel model = Verdict("inconclusive");
  EXPECT_FALSE(IsFulfilled(undecided, model));
  model.verdict.numbers = {{"rate_bytes_per_step", 4096}};
  EXPECT_TRUE(IsFulfilled(undecided, model));
  EXPECT_TRUE(IsFulfilled(undecided, Verdict("unbounded_growth")));
  EXPECT_FALSE(IsFulfilled(undecided, Verdict("leak")));
}

TEST(ConditionsTest, ALimitIsNearByItsEarliestStep) {
  report::ReportModel model = Verdict("leak");
  model.steps.count = 900;
  report::Forecast forecast;
  forecast.limit_step = 1020;
  model.verdict.forecasts = {forecast};
  EXPECT_FALSE(IsFulfilled(Parsed("oom-soon"), model));
  EXPECT_TRUE(IsFulfilled(Parsed("oom-soon=120"), model));
  model.verdict.forecasts[0].limit_step_interval = Interval{980, 1060};
  EXPECT_TRUE(IsFulfilled(Parsed("oom-soon"), model));
  EXPECT_FALSE(IsFulfilled(Parsed("oom-soon"), Verdict("steady")));
}

TEST(ConditionsTest, WithoutStepsSecondsCount) {
  report::ReportModel model = Verdict("unbounded_growth");
  model.verdict.numbers = {{"seconds_to_limit", 90}};
  EXPECT_TRUE(IsFulfilled(Parsed("oom-soon=90"), model));
  EXPECT_FALSE(IsFulfilled(Parsed("oom-soon=89"), model));
}

TEST(ConditionsTest, AMistypedConditionIsAnsweredWithTheOneThatWasMeant) {
  EXPECT_EQ(ParseCondition("leek").status().message(),
            "--on=leek: not leak, growth, undecided-growth or oom-soon; did you mean 'leak'?");
  for (const char* wrong : {"oom-soon=", "oom-soon=0", "oom-soon=x", "leak=3", ""}) {
    EXPECT_FALSE(ParseCondition(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace plateau::cli
