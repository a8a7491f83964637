#include "analyzer/report/ranks/rank_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plateau::report {
namespace {

RankFacts Rank(int rank, const std::string& verdict, const std::string& site = "", double rate = 0) {
  RankFacts facts;
  facts.summary.rank = rank;
  facts.summary.verdict = verdict;
  facts.summary.site = site;
  facts.summary.rate_bytes_per_step = rate;
  facts.start_seconds = 1;
  return facts;
}

std::vector<RankFacts> Steady(int count) {
  std::vector<RankFacts> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.push_back(Rank(rank, "steady"));
  return ranks;
}

TEST(RankWordsTest, TheOddRankIsNamedWithItsLine) {
  std::vector<RankFacts> job = Steady(8);
  job[3] = Rank(3, "leak", "data.py:57 in collate", 65536);
  EXPECT_EQ(RanksInWords(job, {}),
            "8 ranks: leak in rank 3 (64.0 KiB/step at data.py:57 in collate); steady in the other 7.");
  // Its growth is said once.
  EXPECT_EQ(RanksInWords(job, {{3, Oddness::kGrows, "data.py:57 in collate", 65536, 0}}),
            RanksInWords(job, {}));
}

TEST(RankWordsTest, AJobThatIsAllAlikeSaysSo) {
  EXPECT_EQ(RanksInWords(Steady(4), {}), "4 ranks: steady in all of them.");
}

TEST(RankWordsTest, TheSameLeakEverywhereHasItsRange) {
  std::vector<RankFacts> job;
  for (int rank = 0; rank < 2; ++rank) job.push_back(Rank(rank, "leak", "train.py:9", 1024.0 * (rank + 1)));
  EXPECT_EQ(RanksInWords(job, {}),
            "2 ranks: leak in all of them (1.00 KiB/step to 2.00 KiB/step at train.py:9).");
}

TEST(RankWordsTest, TheFasterOneOfManyThatLeakIsNamed) {
  std::vector<RankFacts> job;
  for (int rank = 0; rank < 4; ++rank)
    job.push_back(Rank(rank, "leak", "train.py:9", rank == 2 ? 9216 : 1024));
  EXPECT_EQ(
      RanksInWords(job, {{2, Oddness::kGrows, "train.py:9", 9216, 1024}}),
      "4 ranks: leak in all of them (1.00 KiB/step to 9.00 KiB/step at train.py:9). Rank 2 grows by 9.00 "
      "KiB/step at train.py:9; the median rank by 1.00 KiB/step.");
}

TEST(RankWordsTest, ALargerCacheAndTheKilledOneAreNamed) {
  EXPECT_EQ(
      RanksInWords(Steady(4), {{3, Oddness::kWasKilled, "", 60, 120},
                               {1, Oddness::kHoldsMore, "load.py:3 in load", 64 << 20, 0}}),
      "4 ranks: steady in all of them. Rank 3 was killed after 60 steps; the median rank made 120. Rank 1 "
      "holds 64.0 MiB at load.py:3 in load; the median rank has 0 B there.");
}

TEST(RankWordsTest, RanksThatAreOddInOneWayAreOneSentence) {
  std::vector<OddRank> odd;
  for (const size_t rank : {5, 1, 2}) odd.push_back({rank, Oddness::kHoldsMore, "load.py:3", 64 << 20, 0});
  EXPECT_EQ(
      RanksInWords(Steady(8), odd),
      "8 ranks: steady in all of them. Rank 5 holds 64.0 MiB at load.py:3; the median rank has 0 B there "
      "(so do 2 others).");
}

TEST(RankWordsTest, ManyWaysAreCounted) {
  std::vector<OddRank> odd;
  for (size_t rank = 0; rank < 5; ++rank)
    odd.push_back({rank, Oddness::kHoldsMore, "load.py:" + std::to_string(rank), 64 << 20, 0});
  const std::string text = RanksInWords(Steady(16), odd);
  EXPECT_NE(text.find("Ranks differ in 2 more ways."), std::string::npos) << text;
  EXPECT_EQ(text.find("load.py:3"), std::string::npos) << text;
}

TEST(RankWordsTest, TheWorstComesFirstAndTheRestLast) {
  std::vector<RankFacts> job = Steady(6);
  job[1].summary.verdict = "cache_fill";
  job[4].summary.verdict = "leak";
  EXPECT_EQ(RanksInWords(job, {}), "6 ranks: leak in rank 4; cache fill in rank 1; steady in the other 4.");
}

TEST(RankWordsTest, OneOddRankIsNamedWithItsGroup) {
  std::vector<RankFacts> job = Steady(4);
  job[2] = Rank(2, "leak", "train.py:9", 1024);
  job[2].summary.group = "dp=1/2 tp=0/2";
  EXPECT_EQ(RanksInWords(job, {}),
            "4 ranks: leak in rank 2 (1.00 KiB/step at train.py:9, dp=1/2 tp=0/2); steady in the other 3.");
}

TEST(RankWordsTest, ManyOddRanksAreCounted) {
  std::vector<RankFacts> job = Steady(16);
  for (int rank = 0; rank < 6; ++rank) job[rank].summary.verdict = "inconclusive";
  EXPECT_EQ(RanksInWords(job, {}), "16 ranks: inconclusive in 6 ranks; steady in the other 10.");
}

TEST(RankWordsTest, EarlierAttemptsAreCounted) {
  std::vector<RankFacts> job = Steady(2);
  job[1].summary.earlier_attempts = 1;
  EXPECT_EQ(RanksInWords(job, {}),
            "2 ranks: steady in all of them. One earlier attempt was started again and is not counted.");
}

TEST(RankWordsTest, OneRankIsNoJob) { EXPECT_EQ(RanksInWords(Steady(1), {}), ""); }

}  // namespace
}  // namespace plateau::report
