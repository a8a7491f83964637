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

TEST(ValidUtf8Test, ValidTextStays) {
  for (const char* text : {"", "plain",
                           "Gr\xc3\xb6\xc3\x9f"
                           "e",
                           "\xe2\x82\xac", "\xf0\x9f\x99\x82"}) {
    EXPECT_EQ(ValidUtf8(text), text);
  }
}

TEST(ValidUtf8Test, BytesThatAreNoneAreReplaced) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(ValidUtf8("a\xff"
                      "b"),
            "a" + mark + "b");
  EXPECT_EQ(ValidUtf8("\xc3"), mark);                                   // cut
  EXPECT_EQ(ValidUtf8("\xc0\xaf"), mark + mark);                        // too long for what it says
  EXPECT_EQ(ValidUtf8("\xed\xa0\x80"), mark + mark + mark);             // half of a surrogate pair
  EXPECT_EQ(ValidUtf8("\xf4\x90\x80\x80"), mark + mark + mark + mark);  // beyond the last code point
}

}  // namespace
}  // namespace plateau::report
