#include "analyzer/base/closest_word.h"

#include <gtest/gtest.h>

namespace plateau {
namespace {

TEST(ClosestWordTest, OneOrTwoEditsAreATypingMistake) {
  EXPECT_EQ(ClosestWord("repotr", {"run", "report"}), "report");
  EXPECT_EQ(ClosestWord("--htm", {"--json", "--html"}), "--html");
  EXPECT_EQ(ClosestWord("leek", {"steady", "leak"}), "leak");
}

TEST(ClosestWordTest, AnotherWordIsNotAMistake) {
  EXPECT_EQ(ClosestWord("train.py", {"run", "report"}), "");
  EXPECT_EQ(ClosestWord("rum", {"pack"}), "");
  EXPECT_EQ(ClosestWord("", {"a"}), "");
}

TEST(ClosestWordTest, AShortWordMayDifferByOneEdit) {
  EXPECT_EQ(ClosestWord("rnu", {"rest"}), "");
  EXPECT_EQ(ClosestWord("csb", {"csv"}), "csv");
}

TEST(ClosestWordTest, TheNearestOfSeveralWins) {
  EXPECT_EQ(ClosestWord("sitee", {"size", "sites"}), "sites");
}

TEST(ClosestWordTest, TheQuestionIsReadyToAppend) {
  EXPECT_EQ(DidYouMean("growht", {"growth"}), "; did you mean 'growth'?");
  EXPECT_EQ(DidYouMean("elsewhere", {"growth"}), "");
}

TEST(ClosestWordTest, AVeryLongWordCostsNothing) {
  EXPECT_EQ(ClosestWord(std::string(1 << 20, 'x'), {"growth"}), "");
}

}  // namespace
}  // namespace plateau
