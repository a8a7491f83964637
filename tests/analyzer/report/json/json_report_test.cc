#include "analyzer/report/json/json_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

using nlohmann::json;

TEST(JsonReportTest, ContractFieldsAreThere) {
  const json j = json::parse(WriteJsonReport(LeakModel()));
  EXPECT_EQ(j["schema"], "plateau-report/1");
  EXPECT_EQ(j["verdict"], "leak");
  EXPECT_EQ(j["steps"]["count"], 400);
  EXPECT_EQ(j["steps"]["source"], "optimizer");
  EXPECT_EQ(j["steps"]["epochs"], 3);
  EXPECT_EQ(j["steps"]["evaluations"], 3);
  for (const char* key :
       {"totals", "ledger", "drops", "pools", "processes", "hypotheses", "patterns", "sites"}) {
    EXPECT_TRUE(j.contains(key)) << key;
  }
  const json& site = j["sites"][0];
  for (const char* key :
       {"site", "file", "line", "function", "module", "pool", "retained_bytes", "retained_count",
        "growth_bytes_per_step", "growth_interval", "peak_bytes", "verdict", "evidence", "stack"}) {
    EXPECT_TRUE(site.contains(key)) << key;
  }
  EXPECT_EQ(j["processes"][0]["pid"], 4242);
  EXPECT_EQ(j["hypotheses"][0]["result"], "supported");
}

TEST(JsonReportTest, SitesAndLeftoversAddUpToTheTotal) {
  for (const auto& [name, model] : AllModels()) {
    const json j = json::parse(WriteJsonReport(model));
    int64_t sum = 0;
    for (const json& site : j["sites"]) sum += site["retained_bytes"].get<int64_t>();
    for (const json& leftover : j["totals"]["leftovers"]) sum += leftover["retained_bytes"].get<int64_t>();
    EXPECT_EQ(sum, j["totals"]["retained_bytes"].get<int64_t>()) << name;
  }
}

TEST(JsonReportTest, CutListsSayWhatTheyLeaveOut) {
  const ReportModel model = LeakModel();
  const json j = json::parse(WriteJsonReport(model, {.max_sites = 2}));
  EXPECT_EQ(j["sites"].size(), 2u);
  int64_t rest = 0;
  for (size_t i = 2; i < model.sites.size(); ++i) rest += model.sites[i].retained_bytes;
  EXPECT_EQ(j["sites_not_shown"]["retained_bytes"].get<int64_t>(), rest);
}

TEST(JsonReportTest, WhatIsWrittenIsReadBack) {
  for (const auto& [name, model] : AllModels()) {
    const std::string text = WriteJsonReport(model);
    const absl::StatusOr<ReportModel> again = ReadJsonReport(text);
    ASSERT_TRUE(again.ok()) << name << ": " << again.status();
    EXPECT_TRUE(WriteJsonReport(*again) == text) << name << ": a field is lost or changed";
  }
}

TEST(JsonReportTest, BadInputIsNamedNotCrashedOn) {
  EXPECT_FALSE(ReadJsonReport("").ok());
  EXPECT_FALSE(ReadJsonReport("[]").ok());
  EXPECT_FALSE(ReadJsonReport("{}").ok());
  EXPECT_EQ(ReadJsonReport(R"({"schema":"plateau-report/9"})").status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_THAT(
      std::string(
          ReadJsonReport(R"({"schema":"plateau-report/1","sites":[{"line":"x"}]})").status().message()),
      testing::HasSubstr("wrong type"));
}

TEST(JsonReportTest, BadUtf8AndNotANumberStayValidJson) {
  ReportModel model = HostileModel();
  model.sites[0].growth_bytes_per_step = 0.0 / 0.0;
  EXPECT_TRUE(json::accept(WriteJsonReport(model)));
}

TEST(JsonReportTest, ANumberOfASiteIsWrittenOnce) {
  ReportModel model = LeakModel();
  model.sites[0].numbers = {{"a", 1}, {"b", 2.5}, {"a", 3}};
  model.sites[0].growth_interval = Interval{-1, 2};
  const auto j = nlohmann::ordered_json::parse(WriteJsonReport(model));
  EXPECT_EQ(j["sites"][0]["numbers"].dump(), R"({"a":3.0,"b":2.5})");
  EXPECT_EQ(j["sites"][0]["growth_interval"].dump(), "[-1.0,2.0]");
}

}  // namespace
}  // namespace plateau::report
