#include "analyzer/report/metrics/open_metrics.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plateau::report {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

ReportModel Leak() {
  ReportModel model;
  model.verdict.name = "slow_leak";
  model.verdict.forecasts.push_back({.label = "leak", .limit_step = 1500});
  model.steps.count = 500;
  LedgerReading reading;
  reading.live_bytes = 1000;
  reading.rss_bytes = 5000;
  reading.unexplained_bytes = -7;
  model.ledger.push_back(reading);
  for (int i = 0; i < 15; ++i) {
    Site site;
    site.site = absl::StrCat("train.py:", i);
    site.growth_bytes_per_step = i;
    model.sites.push_back(site);
  }
  return model;
}

TEST(OpenMetricsTest, SaysWhatTheRunHoldsAndWhereItGoes) {
  const std::string text = WriteOpenMetrics(Leak(), {.time_seconds = 1.5, .failed_looks = 2});
  EXPECT_THAT(text, HasSubstr("\nplateau_live_bytes 1000\n"));
  EXPECT_THAT(text, HasSubstr("\nplateau_rss_bytes 5000\n"));
  EXPECT_THAT(text, HasSubstr("\nplateau_unexplained_bytes -7\n"));
  EXPECT_THAT(text, HasSubstr("\nplateau_steps_total 500\n"));
  EXPECT_THAT(text, HasSubstr("\nplateau_steps_to_limit 1000\n"));
  EXPECT_THAT(text, HasSubstr("\nplateau_failed_looks_total 2\n"));
  EXPECT_THAT(text, HasSubstr("plateau_verdict{kind=\"slow_leak\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("plateau_verdict{kind=\"steady\"} 0\n"));
  EXPECT_THAT(text, EndsWith("# EOF\n"));
}

TEST(OpenMetricsTest, OnlyTheSitesThatGrowMostAreSeries) {
  const std::string text = WriteOpenMetrics(Leak(), {});
  EXPECT_THAT(text, HasSubstr("plateau_growth_bytes_per_step{site=\"train.py:14\"} 14\n"));
  EXPECT_THAT(text, HasSubstr("{site=\"train.py:5\"}"));
  EXPECT_THAT(text, Not(HasSubstr("{site=\"train.py:4\"}")));
}

TEST(OpenMetricsTest, NamesFromOutsideAreEscaped) {
  ReportModel model = Leak();
  model.sites[14].site = "a\"b\\c\nd\xff";
  EXPECT_THAT(WriteOpenMetrics(model, {}), HasSubstr("{site=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\"} 14\n"));
}

TEST(OpenMetricsTest, WithoutAForecastThereIsNoDistanceToALimit) {
  ReportModel model = Leak();
  model.verdict.forecasts.clear();
  EXPECT_THAT(WriteOpenMetrics(model, {}), Not(HasSubstr("\nplateau_steps_to_limit ")));
}

}  // namespace
}  // namespace plateau::report
