#include "analyzer/base/human_units.h"

#include <gtest/gtest.h>

namespace plateau {
namespace {

TEST(HumanUnitsTest, BytesHaveThreeSignificantDigits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1024), "1.00 KiB");
  EXPECT_EQ(FormatBytes(10001), "9.77 KiB");
  EXPECT_EQ(FormatBytes(150 * 1024), "150 KiB");
  EXPECT_EQ(FormatBytes(-3.2 * 1024 * 1024 * 1024), "-3.20 GiB");
}

TEST(HumanUnitsTest, RoundingNeverPrintsAFullUnit) {
  EXPECT_EQ(FormatBytes(1024 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(FormatCount(999999), "1.00 M");
}

TEST(HumanUnitsTest, OneOfThemIsSingular) {
  EXPECT_EQ(Counted(0, "block"), "0 blocks");
  EXPECT_EQ(Counted(1, "block"), "1 block");
  EXPECT_EQ(Counted(1200, "block"), "1.20 k blocks");
}

TEST(HumanUnitsTest, Durations) {
  EXPECT_EQ(FormatDuration(0.85), "850 ms");
  EXPECT_EQ(FormatDuration(12.34), "12.3 s");
  EXPECT_EQ(FormatDuration(200), "3 min 20 s");
  EXPECT_EQ(FormatDuration(7500), "2 h 05 min");
}

TEST(HumanUnitsTest, ParsesWhatPeopleType) {
  EXPECT_EQ(ParseBytes("4096"), 4096u);
  EXPECT_EQ(ParseBytes("64k"), 65536u);
  EXPECT_EQ(ParseBytes("64KiB"), 65536u);
  EXPECT_EQ(ParseBytes("1.5 GiB"), 1610612736u);
  EXPECT_EQ(ParseBytes("10GB"), 10000000000u);
  EXPECT_EQ(ParseBytes("12 b"), 12u);
}

TEST(HumanUnitsTest, RefusesWhatIsNoSize) {
  for (const char* text : {"", "k", "-1", "1x", "1kbit", "1e99999", "99999999999P", "1..2"}) {
    EXPECT_FALSE(ParseBytes(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace plateau
