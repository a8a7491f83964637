#include "analyzer/base/valid_utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace plateau {
namespace {

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
}  // namespace plateau
