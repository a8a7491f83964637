#include "analyzer/report/report_model.h"

#include <gtest/gtest.h>

#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

TEST(ReportModelTest, FixturesAddUp) {
  for (const auto& [name, model] : AllModels()) {
    EXPECT_TRUE(CheckTotals(model).empty()) << name << ": " << CheckTotals(model).front();
  }
  const ReportModel big = BigModel(500, 2000);
  EXPECT_TRUE(CheckTotals(big).empty()) << CheckTotals(big).front();
}

TEST(ReportModelTest, OneByteTooManyIsNamed) {
  ReportModel model = LeakModel();
  model.sites[0].retained_bytes += 1;
  const std::vector<std::string> wrong = CheckTotals(model);
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_NE(wrong[0].find("retained bytes add up to"), std::string::npos);
}

TEST(ReportModelTest, SortingKeepsStacksWithTheirSites) {
  ReportModel model = LeakModel();
  std::vector<std::string> before;
  for (const StackTreeNode& node : model.stacks)
    before.push_back(node.site < 0 ? "" : model.sites[node.site].site);
  std::reverse(model.sites.begin(), model.sites.end());
  for (StackTreeNode& node : model.stacks) {
    if (node.site >= 0) node.site = static_cast<int32_t>(model.sites.size()) - 1 - node.site;
  }
  SortSites(model);
  for (size_t i = 0; i + 1 < model.sites.size(); ++i) {
    EXPECT_GE(model.sites[i].retained_bytes, model.sites[i + 1].retained_bytes);
  }
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(model.stacks[i].site < 0 ? "" : model.sites[model.stacks[i].site].site, before[i]);
  }
}

}  // namespace
}  // namespace plateau::report
