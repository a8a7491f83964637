#include "analyzer/report/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

using testing::HasSubstr;

CheckReport Check(const ReportModel& model, const std::string& rules,
                  const Suppressions* suppressions = nullptr, const ReportModel* baseline = nullptr) {
  const absl::StatusOr<std::vector<CheckRule>> parsed = ParseCheckRules(rules);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  CheckInputs inputs;
  inputs.model = &model;
  inputs.suppressions = suppressions;
  inputs.baseline = baseline;
  return RunCheck(inputs, *parsed);
}

CheckStatus StatusOf(const ReportModel& model, const std::string& rule) {
  return Check(model, rule).outcomes.at(0).status;
}

TEST(CheckTest, DefaultRulesFailLeaksAndNothingElse) {
  CheckInputs inputs;
  for (const auto& [name, model] : AllModels()) {
    inputs.model = &model;
    const bool leaks = name == "leak" || name == "hostile" || name == "ranks" || name == "staircase";
    EXPECT_EQ(RunCheck(inputs, DefaultCheckRules()).passed(), !leaks) << name;
  }
}

TEST(CheckTest, FailOnNamesTheSites) {
  const CheckReport report = Check(LeakModel(), "fail-on leak");
  ASSERT_FALSE(report.passed());
  ASSERT_EQ(report.outcomes[0].details.size(), 2u);
  EXPECT_THAT(report.outcomes[0].details[0], HasSubstr("train.py:57 in train_step"));
  EXPECT_FALSE(Check(FragmentationModel(), "fail-on fragmentation").passed());
  EXPECT_FALSE(Check(InconclusiveModel(), "fail-on inconclusive").passed());
}

TEST(CheckTest, GrowthIsEveryVerdictOfGrowthWithoutAnEnd) {
  ReportModel model = SteadyModel();
  for (const char* name :
       {"leak", "slow_leak", "staircase", "unbounded_growth", "fragmentation", "untraced_growth"}) {
    model.verdict.name = name;
    EXPECT_EQ(StatusOf(model, "fail-on growth"), CheckStatus::kFailed) << name;
  }
  for (const char* name : {"steady", "cache_fill", "warmup_in_progress", "inconclusive"}) {
    model.verdict.name = name;
    EXPECT_EQ(StatusOf(model, "fail-on growth"), CheckStatus::kPassed) << name;
  }
  model.verdict.name = "unbounded_growth";
  EXPECT_EQ(StatusOf(model, "fail-on leak"), CheckStatus::kPassed);
}

TEST(CheckTest, GrowthFailsOnlyWhenTheIntervalIsAbove) {
  EXPECT_EQ(StatusOf(LeakModel(), "max-growth 1MiB/step"), CheckStatus::kFailed);
  EXPECT_EQ(StatusOf(LeakModel(), "max-growth 2MiB/step"), CheckStatus::kPassed);
  ReportModel unsure = LeakModel();
  for (Site& site : unsure.sites) site.growth_interval = Interval{0, 2 * site.growth_bytes_per_step};
  EXPECT_EQ(StatusOf(unsure, "max-growth 1MiB/step"), CheckStatus::kWarned);
  EXPECT_EQ(StatusOf(WarmupModel(), "max-growth 1KiB/step"), CheckStatus::kPassed);
  EXPECT_EQ(StatusOf(CacheFillModel(), "max-growth 1KiB/step"), CheckStatus::kPassed);
}

TEST(CheckTest, LevelsAndBudgets) {
  EXPECT_EQ(StatusOf(LeakModel(), "max-retained 1GiB"), CheckStatus::kFailed);
  EXPECT_EQ(StatusOf(LeakModel(), "max-retained 4GiB"), CheckStatus::kPassed);
  EXPECT_EQ(StatusOf(LeakModel(), "max-peak 1GiB"), CheckStatus::kFailed);
  EXPECT_EQ(StatusOf(FragmentationModel(), "max-rss 3GiB"), CheckStatus::kFailed);
  EXPECT_EQ(StatusOf(CacheFillModel(), "budget data.py 10GiB"), CheckStatus::kFailed);
  EXPECT_EQ(StatusOf(CacheFillModel(), "budget data.py 20GiB"), CheckStatus::kPassed);
  EXPECT_EQ(StatusOf(LeakModel(), "budget train.py 100KiB/step"), CheckStatus::kFailed);
  EXPECT_EQ(StatusOf(LeakModel(), "budget data.py 100KiB/step"), CheckStatus::kPassed);
}

TEST(CheckTest, BudgetsOfWhoHoldsIt) {
  const ReportModel model = LeakModel();
  EXPECT_EQ(StatusOf(model, "budget held-by:trainer.moonmeter* 1GiB"), CheckStatus::kPassed);
  EXPECT_EQ(StatusOf(model, "budget held-by:trainer.moonmeter* 1MiB"), CheckStatus::kFailed);
  EXPECT_EQ(StatusOf(model, "budget held-by:trainer.moonmeter* 64KiB/step"), CheckStatus::kFailed);
  EXPECT_EQ(StatusOf(model, "budget held-by:trainer.moonmeter* 64MiB/step"), CheckStatus::kPassed);
  EXPECT_EQ(StatusOf(model, "budget held-by:other.* 0"), CheckStatus::kPassed);
  const CheckReport report = Check(model, "budget held-by:trainer.moonmeter* 1MiB");
  EXPECT_THAT(report.outcomes[0].details.at(0), HasSubstr("trainer.moonmeter[*]['loss'] holds"));
  // Nobody looked: no pass, and no failure either.
  EXPECT_EQ(StatusOf(SteadyModel(), "budget held-by:trainer.* 1MiB"), CheckStatus::kWarned);
}

TEST(CheckTest, PlateauByAStep) {
  EXPECT_EQ(StatusOf(CacheFillModel(), "plateau-by 90"), CheckStatus::kPassed);
  EXPECT_EQ(StatusOf(CacheFillModel(), "plateau-by 50"), CheckStatus::kFailed);
  EXPECT_EQ(StatusOf(LeakModel(), "plateau-by 100"), CheckStatus::kFailed);
  EXPECT_EQ(StatusOf(InconclusiveModel(), "plateau-by 90"), CheckStatus::kWarned);
}

TEST(CheckTest, StepsAndDrops) {
  EXPECT_EQ(StatusOf(SteadyModel(), "min-steps 200"), CheckStatus::kPassed);
  EXPECT_EQ(StatusOf(SteadyModel(), "min-steps 201"), CheckStatus::kFailed);
  ReportModel lossy = SteadyModel();
  lossy.losses.dropped_events = 5;
  EXPECT_EQ(StatusOf(lossy, "max-drops 4"), CheckStatus::kFailed);
}

TEST(CheckTest, SuppressedSitesDoNotFail) {
  const Suppressions known = Suppressions::Parse("leak:train.py:57").value();
  EXPECT_TRUE(Check(LeakModel(), "max-growth 64KiB/step", &known).passed());
  ReportModel single = LeakModel();
  single.processes.resize(1);
  EXPECT_TRUE(Check(single, "fail-on leak", &known).passed());
  const Suppressions other = Suppressions::Parse("leak:nothing_like_it").value();
  EXPECT_FALSE(Check(single, "fail-on leak", &other).passed());
}

TEST(CheckTest, BaselineComparesSiteBySite) {
  const ReportModel good = SteadyModel();
  const ReportModel bad = LeakModel();
  EXPECT_TRUE(Check(good, "baseline 10%", nullptr, &good).passed());
  const CheckReport report = Check(bad, "baseline 10%", nullptr, &good);
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(report.outcomes[0].details, testing::Contains(HasSubstr("train.py:57")));
  EXPECT_FALSE(Check(good, "baseline 10%").passed()) << "a missing baseline is not a pass";
}

TEST(CheckRuleTest, MistakesAreNamed) {
  for (const char* line :
       {"fail-on", "fail-on sadness", "max-growth 1MiB", "max-growth many/step", "max-peak 1MiB/step",
        "plateau-by soon", "budget data.py", "baseline 10", "enjoy 3"}) {
    EXPECT_FALSE(ParseCheckRule(line).ok()) << line;
  }
  EXPECT_THAT(std::string(ParseCheckRules("# fine\nmin-steps 5\nnonsense 1\n").status().message()),
              HasSubstr("line 3"));
}

TEST(CheckOutputTest, EveryFormatSaysTheSame) {
  const ReportModel model = HostileModel();
  const CheckReport report = Check(model, "fail-on leak\nmin-steps 10\n");
  const auto json = nlohmann::json::parse(WriteCheckJson(model, report));
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["rules"].size(), 2u);
  EXPECT_THAT(WriteCheckText(report), HasSubstr("check failed"));
  const std::string junit = WriteCheckJunit(model, report);
  EXPECT_THAT(junit, HasSubstr("tests=\"2\" failures=\"1\""));
  EXPECT_THAT(junit, testing::Not(HasSubstr("<script>")));
  const std::string markdown = WriteCheckMarkdown(model, report);
  EXPECT_THAT(markdown, HasSubstr("| `fail-on leak` | **failed** |"));
  EXPECT_THAT(markdown, testing::Not(HasSubstr("<script>")));
}

}  // namespace
}  // namespace plateau::report
