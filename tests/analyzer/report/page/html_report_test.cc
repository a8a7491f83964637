#include "analyzer/report/page/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

using nlohmann::json;

// What the page's script would read.
json DataOf(const std::string& page) {
  const std::string open = "id=\"plateau-data\">";
  const size_t from = page.find(open) + open.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(HtmlReportTest, TemplateIsCompleteAndClosed) {
  const absl::string_view page = PageTemplate();
  EXPECT_TRUE(absl::StartsWith(page, "<!doctype html>"));
  EXPECT_TRUE(absl::StrContains(page, "@PLATEAU_DATA@"));
  EXPECT_TRUE(absl::StrContains(page, "default-src 'none'"));
  EXPECT_FALSE(absl::StrContains(page, "@SCRIPT@"));
  EXPECT_FALSE(absl::StrContains(page, "unsafe-inline"));
}

TEST(HtmlReportTest, DataAddsUpToTheModel) {
  for (const auto& [name, model] : AllModels()) {
    const json data = DataOf(WriteHtmlReport(model));
    int64_t sites = data["rest"]["retained"].get<int64_t>();
    for (const json& site : data["sites"]) sites += site["retained"].get<int64_t>();
    for (const json& leftover : data["report"]["totals"]["leftovers"]) {
      sites += leftover["retained_bytes"].get<int64_t>();
    }
    EXPECT_EQ(sites, model.totals.retained_bytes) << name;
    int64_t stacks = 0;
    for (const json& value : data["stacks"]["retained"]) stacks += value.get<int64_t>();
    EXPECT_EQ(stacks, model.totals.retained_bytes) << name;
  }
}

TEST(HtmlReportTest, CurvesOfSitesAndOthersAddUpToLive) {
  const ReportModel model = BigModel(300, 3000);
  PageLimits limits;
  limits.series_sites = 5;
  const json series = json(BuildPageData(model, limits))["series"];
  EXPECT_EQ(series["curves"].size(), 5u);
  int64_t end = series["others"].back().get<int64_t>();
  for (const json& curve : series["curves"]) end += curve["live"].back().get<int64_t>();
  int64_t expected = 0;
  for (const Site& site : model.sites) expected += site.live_bytes.back();
  EXPECT_EQ(end, expected);
}

TEST(HtmlReportTest, LargeRecordingStaysBelowEightMebibytes) {
  const std::string page = WriteHtmlReport(BigModel(10000, 100000));
  EXPECT_LT(page.size(), 8u << 20);
  const json data = DataOf(page);
  EXPECT_LE(data["ledger"]["step"].size(), 2000u);
  EXPECT_LE(data["stacks"]["parent"].size(), 30001u);
  EXPECT_GT(data["rest"]["sites"].get<int>(), 0);
}

TEST(HtmlReportTest, NothingFromARecordingEndsTheScript) {
  const std::string page = WriteHtmlReport(HostileModel());
  EXPECT_FALSE(absl::StrContains(page, "<script>alert"));
  EXPECT_FALSE(absl::StrContains(page, "<!--"));
  EXPECT_TRUE(absl::StrContains(page, "<title>Plateau: LEAK, python &#39;&lt;/title&gt;"));
  EXPECT_EQ(DataOf(page)["sites"][0]["site"], "<script>alert(1)</script>");
}

TEST(HtmlReportTest, EmptyModelMakesAPage) {
  EXPECT_TRUE(DataOf(WriteHtmlReport(ReportModel())).contains("report"));
}

TEST(EscapeTest, EveryMarkupCharacter) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(EscapeJsonForHtml("\"</script>\""), "\"\\u003c/script>\"");
}

}  // namespace
}  // namespace plateau::report
