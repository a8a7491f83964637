#include "analyzer/report/units.h"

#include <gtest/gtest.h>

namespace plateau::report {
namespace {

TEST(UnitsTest, CountsHaveSeparators) {
  EXPECT_EQ(HumanCount(999), "999");
  EXPECT_EQ(HumanCount(1234), "1,234");
  EXPECT_EQ(HumanCount(-123456), "-123,456");
  EXPECT_EQ(HumanCount(12.3e6), "12.3 M");
}

TEST(UnitsTest, IntervalsShareTheUnitOfTheLargerEnd) {
  EXPECT_EQ(FormatByteInterval({1.1 * 1048576, 1.3 * 1048576}), "1.10-1.30 MiB");
  EXPECT_EQ(FormatByteInterval({-1048576, 1048576}), "-1.00 to 1.00 MiB");
}

TEST(UnitsTest, SparklineShowsThePeakOfEachStretch) {
  EXPECT_EQ(Sparkline({0, 7}, 2), "▁█");
  EXPECT_EQ(Sparkline({0, 9, 0, 0}, 2), "█▁");
  EXPECT_EQ(Sparkline({5, 5}, 2), "▁▁");
  EXPECT_EQ(Sparkline({5, 5}, 2, 0.0), "██");
  EXPECT_EQ(Sparkline({}, 5), "");
}

TEST(UnitsTest, EllipsisKeepsTheEndOfAPathAndWholeCharacters) {
  EXPECT_EQ(MiddleEllipsis("short", 10), "short");
  EXPECT_EQ(MiddleEllipsis("/home/user/project/train.py:42", 15), "/hom...in.py:42");
  EXPECT_EQ(DisplayWidth(MiddleEllipsis("ééééééééééééé", 8)), 8);
}

TEST(UnitsTest, ALongSiteKeepsItsLine) {
  EXPECT_EQ(SiteEllipsis("train.py:42 in main", 40), "train.py:42 in main");
  EXPECT_EQ(SiteEllipsis("cow_list.py:17 in Captions.__init__.<locals>.<listcomp>", 36),
            "cow_list.py:17 in Capti...<listcomp>");
  EXPECT_EQ(SiteEllipsis("a_very_long_name_of_a_file.py:1234 in step", 30), "a_ve..._a_file.py:1234 in step");
  EXPECT_EQ(SiteEllipsis("std::vector<int>::push_back(int const&) in train", 20), "std::...t&) in train");
  EXPECT_EQ(SiteEllipsis("batch_kept.py:21 in <module>", 20), "batch_kept.py:21");
  for (int columns = 0; columns < 60; ++columns)
    EXPECT_LE(DisplayWidth(SiteEllipsis("cow_list.py:17 in Captions.__init__.<locals>.<listcomp>", columns)),
              columns);
}

TEST(UnitsTest, ControlCharactersDoNotReachTheTerminal) {
  EXPECT_EQ(Printable("a\x1b[31mb\nc\x07"), "a?[31mb?c?");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "?31m");
  EXPECT_EQ(Printable("\xf0\x9f\x94\xa5"), "\xf0\x9f\x94\xa5");
}

TEST(UnitsTest, WideLettersTakeTwoColumnsAndMarksNone) {
  EXPECT_EQ(DisplayWidth("gr\u00f6\u00dfe"), 5);
  EXPECT_EQ(DisplayWidth("\U0001f525.py"), 5);
  EXPECT_EQ(DisplayWidth("\u6570\u636e"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  const std::string wide = "\U0001f525\U0001f525\U0001f525\U0001f525\U0001f525\U0001f525";
  for (int columns = 4; columns < 12; ++columns)
    EXPECT_LE(DisplayWidth(MiddleEllipsis(wide, columns)), columns);
}

TEST(UnitsTest, BrokenBytesArePrintedAsReplacementCharacters) {
  EXPECT_EQ(Printable("bad\xff\xfe.py"), "bad\ufffd\ufffd.py");
  EXPECT_EQ(Printable("cut\xe2\x82"), "cut\ufffd\ufffd");
}

TEST(UnitsTest, NamesCannotTurnTheDirectionOfALine) {
  EXPECT_EQ(Printable("a\u202eb\u2066c"), "a?b?c");
  EXPECT_EQ(Printable("\u2026\u2603"), "\u2026\u2603");
}

}  // namespace
}  // namespace plateau::report
