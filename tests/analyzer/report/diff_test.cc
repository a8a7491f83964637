#include "analyzer/report/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DiffTest, ChangesAddUpToTheChangeOfTheTotal) {
  const ReportModel before = SteadyModel();
  const ReportModel after = LeakModel();
  const ReportDiff diff = DiffReports(before, after);
  int64_t sum = 0;
  for (const DiffRow& row : diff.rows) sum += row.retained_change();
  for (const DiffRow& row : diff.leftovers) sum += row.retained_change();
  EXPECT_EQ(sum, after.totals.retained_bytes - before.totals.retained_bytes);
}

TEST(DiffTest, TheNewLeakComesFirst) {
  const ReportDiff diff = DiffReports(SteadyModel(), LeakModel());
  EXPECT_EQ(diff.rows[0].site, "train.py:57 in train_step");
  EXPECT_FALSE(diff.rows[0].before.present);
  const std::string text = WriteDiffText(diff);
  EXPECT_THAT(text, HasSubstr("STEADY -> LEAK"));
  EXPECT_THAT(text, HasSubstr("new: leak"));
  EXPECT_THAT(text, HasSubstr("unchanged]"));
}

TEST(DiffTest, MovedLinesAreTheSameSite) {
  const ReportModel before = LeakModel();
  ReportModel after = LeakModel();
  for (Site& site : after.sites) {
    if (site.file == "model.py") site.line += 7;
  }
  for (const DiffRow& row : DiffReports(before, after).rows) {
    EXPECT_TRUE(row.before.present && row.after.present) << row.site;
    EXPECT_EQ(row.retained_change(), 0) << row.site;
  }
}

TEST(DiffTest, AnotherHolderIsNamed) {
  ReportModel after = LeakModel();
  for (Site& site : after.sites) {
    if (!site.held_by.empty()) site.held_by[0].text = "client._cache[*]";
  }
  const std::string text = WriteDiffText(DiffReports(LeakModel(), after));
  EXPECT_THAT(text, HasSubstr("train.py:57 in train_step: trainer.moonmeter[*]['loss'] -> client._cache[*]"));
  EXPECT_THAT(WriteDiffText(DiffReports(LeakModel(), LeakModel())), Not(HasSubstr("Held by")));
}

TEST(DiffTest, JsonHasBothSides) {
  const auto json = nlohmann::json::parse(WriteDiffJson(DiffReports(LeakModel(), HostileModel())));
  EXPECT_EQ(json["schema"], "plateau-diff/1");
  EXPECT_TRUE(json["sites"][0].contains("before"));
}

}  // namespace
}  // namespace plateau::report
