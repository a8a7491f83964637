#include "analyzer/base/json_limits.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plateau {
namespace {

using ::testing::HasSubstr;

TEST(JsonLimitsTest, OrdinaryTextPasses) {
  EXPECT_TRUE(CheckJsonLimits(R"({"a": [1, 2, {"b": "[[[,,,"}], "c": "\"[["})").ok());
  EXPECT_TRUE(CheckJsonLimits("").ok());
  EXPECT_TRUE(CheckJsonLimits("\"not ended").ok());
  EXPECT_TRUE(CheckJsonLimits("\"ends in a \\").ok());
}

TEST(JsonLimitsTest, DeepTextIsRefused) {
  EXPECT_TRUE(CheckJsonLimits(std::string(kMaxJsonDepth, '[')).ok());
  const absl::Status status = CheckJsonLimits(std::string(kMaxJsonDepth + 1, '['));
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("nested 129 deep"));
}

TEST(JsonLimitsTest, BracketsThatCloseAreNotDeep) {
  std::string text = "[";
  for (int i = 0; i < 10000; ++i) text += "[],";
  EXPECT_TRUE(CheckJsonLimits(text + "0]").ok());
}

TEST(JsonLimitsTest, TooManyValuesAreRefused) {
  std::string text = "[";
  for (size_t i = 0; i < kMaxJsonValues; ++i) text += "0,";
  EXPECT_TRUE(absl::IsResourceExhausted(CheckJsonLimits(text + "0]")));
}

TEST(JsonLimitsTest, ManyEmptyObjectsAreRefused) {
  const auto rows = [](size_t count, const std::string& row) {
    std::string text = "[";
    for (size_t i = 0; i < count; ++i) text += row + ",";
    return text + "0]";
  };
  EXPECT_TRUE(CheckJsonLimits(rows(kFreeJsonObjects, "{}")).ok());
  EXPECT_TRUE(CheckJsonLimits(rows(3 * kFreeJsonObjects, R"({"site": "a.py:1", "line": 12345})")).ok());
  const absl::Status status = CheckJsonLimits(rows(2 * kFreeJsonObjects, "{}"));
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("131072 objects"));
}

}  // namespace
}  // namespace plateau
