#include "analyzer/report/columns/table.h"

#include <string>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plateau::report {
namespace {

using ::testing::ElementsAre;

TEST(TableTest, RowsBecomeColumns) {
  Table table(
      "ranks",
      {{"rank", ColumnType::kInteger}, {"rate", ColumnType::kReal, true}, {"site", ColumnType::kText}});
  table.Add({3, 1.5, "train.py:42"});
  table.Add({4, std::monostate{}, std::string("eval.py:1")});
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_THAT(table.columns()[0].integers, ElementsAre(3, 4));
  EXPECT_THAT(table.columns()[1].reals, ElementsAre(1.5));
  EXPECT_THAT(table.columns()[1].is_null, ElementsAre(false, true));
  EXPECT_THAT(table.columns()[2].texts, ElementsAre("train.py:42", "eval.py:1"));
}

TEST(TableTest, AnEmptyOptionalIsNull) {
  EXPECT_TRUE(Cell(std::optional<double>()).is_null());
  EXPECT_EQ(Cell(std::optional<double>(2)).real(), 2);
}

}  // namespace
}  // namespace plateau::report
