#include "analyzer/report/columns/content_key.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace plateau::report {
namespace {

TEST(ContentKeyTest, IsTheSameOnEveryMachineAndInEveryVersion) {
  EXPECT_EQ(ContentKey().Add("train.py").Add(int64_t{42}).Text(),
            ContentKey().Add("train.py").Add(int64_t{42}).Text());
  EXPECT_EQ(ContentKey().Add("host").Add("train.py").Text(), "6bcb2ffb7f7e073f8d413dfc73db253c");
}

TEST(ContentKeyTest, PartsAreKeptApart) {
  EXPECT_NE(ContentKey().Add("ab").Add("c").Text(), ContentKey().Add("a").Add("bc").Text());
  EXPECT_NE(ContentKey().Add("a").Text(), ContentKey().Add("a").Add("").Text());
  EXPECT_NE(ContentKey().Add("").Text(), ContentKey().Text());
}

TEST(ContentKeyTest, NeighboursHaveNoKeyInCommon) {
  std::set<std::string> keys, halves;
  for (int64_t i = 0; i < 200'000; ++i) {
    const std::string key = ContentKey().Add("train.py").Add(i).Text();
    keys.insert(key);
    halves.insert(key.substr(0, 16));
    halves.insert(key.substr(16));
  }
  EXPECT_EQ(keys.size(), 200'000u);
  EXPECT_EQ(halves.size(), 400'000u);  // each lane alone tells them apart
}

}  // namespace
}  // namespace plateau::report
