#include "preload/base/fixed_text.h"

#include "gtest/gtest.h"

namespace plateau {
namespace {

TEST(FixedText, WritesTextAndNumbers) {
  FixedText<64> text;
  text << "a" << 'b' << std::string_view("cd", 1) << 0 << -12 << uint64_t{18446744073709551615u} << INT64_MIN;
  EXPECT_EQ(text.view(), "abc0-1218446744073709551615-9223372036854775808");
  EXPECT_EQ(text.c_str()[text.size()], 0);
}

TEST(FixedText, CutsWhatDoesNotFit) {
  FixedText<8> text;
  text << "0123456789"
       << "more" << 77;
  EXPECT_EQ(text.view(), "0123456");
  text.CutTo(3);
  EXPECT_EQ(text.view(), "012");
  text.CutTo(100);
  EXPECT_EQ(text.view(), "012");
  text.Clear();
  EXPECT_EQ(text.view(), "");
}

}  // namespace
}  // namespace plateau
