#include "analyzer/report/builder/rank_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plateau::report {
namespace {

std::vector<RankFacts> Steady(int count) {
  std::vector<RankFacts> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.push_back({rank, 1.0, "steady", "", 0});
  return ranks;
}

TEST(RankWordsTest, TheOddRankIsNamedWithItsLine) {
  std::vector<RankFacts> job = Steady(8);
  job[3] = {3, 1.0, "leak", "data.py:57 in collate", 65536};
  EXPECT_EQ(RanksInWords(job),
            "8 ranks: leak in rank 3 (64.0 KiB/step at data.py:57 in collate); steady in the other 7.");
}

TEST(RankWordsTest, AJobThatIsAllAlikeSaysSo) {
  EXPECT_EQ(RanksInWords(Steady(4)), "4 ranks: steady in all of them.");
}

TEST(RankWordsTest, TheSameLeakEverywhereHasItsRange) {
  std::vector<RankFacts> job;
  for (int rank = 0; rank < 2; ++rank) job.push_back({rank, 1.0, "leak", "train.py:9", 1024.0 * (rank + 1)});
  EXPECT_EQ(RanksInWords(job),
            "2 ranks: leak in all of them (1.00 KiB/step to 2.00 KiB/step at train.py:9).");
}

TEST(RankWordsTest, TheWorstComesFirstAndTheRestLast) {
  std::vector<RankFacts> job = Steady(6);
  job[1].verdict = "cache_fill";
  job[4].verdict = "leak";
  EXPECT_EQ(RanksInWords(job), "6 ranks: leak in rank 4; cache fill in rank 1; steady in the other 4.");
}

TEST(RankWordsTest, OneOddRankIsNamedWithItsGroup) {
  std::vector<RankFacts> job = Steady(4);
  job[2] = {2, 1.0, "leak", "train.py:9", 1024, "dp=1/2 tp=0/2"};
  EXPECT_EQ(RanksInWords(job),
            "4 ranks: leak in rank 2 (1.00 KiB/step at train.py:9, dp=1/2 tp=0/2); steady in the other 3.");
}

TEST(RankWordsTest, ManyOddRanksAreCounted) {
  std::vector<RankFacts> job = Steady(16);
  for (int rank = 0; rank < 6; ++rank) job[rank].verdict = "inconclusive";
  EXPECT_EQ(RanksInWords(job), "16 ranks: inconclusive in 6 ranks; steady in the other 10.");
}

TEST(RankWordsTest, ARestartedRankIsItsLastAttempt) {
  std::vector<RankFacts> job = Steady(2);
  job.push_back({1, 0.5, "leak", "", 0});  // an attempt before the one in the list
  EXPECT_EQ(RanksInWords(job),
            "2 ranks: steady in all of them. One earlier attempt was started again and is not counted.");
}

TEST(RankWordsTest, OneRankIsNoJob) { EXPECT_EQ(RanksInWords(Steady(1)), ""); }

}  // namespace
}  // namespace plateau::report
