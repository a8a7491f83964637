#include "analyzer/report/ranks/odd_ranks.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace plateau::report {
namespace {

constexpr int64_t kMiB = 1 << 20;

RankFacts Rank(int rank, int64_t steps = 100) {
  RankFacts facts;
  facts.summary.rank = rank;
  facts.summary.steps = steps;
  facts.summary.retained_bytes = 100 * kMiB;
  facts.start_seconds = 1;
  return facts;
}

std::vector<RankFacts> Job(int count) {
  std::vector<RankFacts> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.push_back(Rank(rank));
  return ranks;
}

RankSite Growing(double rate) { return {"data.py:57 in collate", "host", true, rate, 0.9 * rate, 0}; }
RankSite Holding(int64_t bytes) { return {"load.py:3 in load", "host", false, 0, 0, bytes}; }

// "grows 3, was killed 1".
std::string Found(const std::vector<RankFacts>& ranks) {
  constexpr const char* kNames[] = {"grows", "was killed", "stopped early", "holds more"};
  std::string text;
  for (const OddRank& odd : FindOddRanks(ranks)) {
    if (!text.empty()) text += ", ";
    text +=
        std::string(kNames[static_cast<int>(odd.kind)]) + " " + std::to_string(ranks[odd.index].summary.rank);
  }
  return text;
}

TEST(OddRanksTest, AHealthyJobHasNone) { EXPECT_EQ(Found(Job(8)), ""); }

TEST(OddRanksTest, OneThatGrowsIsFoundAmongTwoAndAmongEight) {
  for (const int count : {2, 8}) {
    std::vector<RankFacts> job = Job(count);
    job[1].sites.push_back(Growing(300));
    EXPECT_EQ(Found(job), "grows 1") << count;
  }
}

TEST(OddRanksTest, WhereAllGrowAlikeNoneIsOddAndTheFasterOneIs) {
  std::vector<RankFacts> job = Job(8);
  for (RankFacts& rank : job) rank.sites.push_back(Growing(1000 + rank.summary.rank));
  EXPECT_EQ(Found(job), "");
  job[4].sites[0] = Growing(10000);
  EXPECT_EQ(Found(job), "grows 4");
  EXPECT_DOUBLE_EQ(FindOddRanks(job)[0].middle, 1004);
}

TEST(OddRanksTest, GrowthWithoutAnIntervalAboveZeroIsNoDifference) {
  std::vector<RankFacts> job = Job(4);
  job[2].sites.push_back(Growing(300));
  job[2].sites[0].growth_low = -10;
  EXPECT_EQ(Found(job), "");
}

TEST(OddRanksTest, ALargerCacheIsFoundAmongThreeAndNotAmongTwo) {
  std::vector<RankFacts> job = Job(3);
  job[1].sites.push_back(Holding(64 * kMiB));
  EXPECT_EQ(Found(job), "holds more 1");
  job.pop_back();
  EXPECT_EQ(Found(job), "");
}

TEST(OddRanksTest, ACacheThatVariesFromRankToRankIsNoDifference) {
  std::vector<RankFacts> job = Job(8);
  for (RankFacts& rank : job) rank.sites.push_back(Holding((100 + 10 * rank.summary.rank) * kMiB));
  EXPECT_EQ(Found(job), "");
}

TEST(OddRanksTest, ASiteInTwoPoolsIsTwoSites) {
  std::vector<RankFacts> job = Job(3);
  for (RankFacts& rank : job) rank.sites.push_back(Holding(64 * kMiB));
  job[2].sites[0].pool = "device 0";
  EXPECT_EQ(Found(job), "holds more 2");
}

TEST(OddRanksTest, TheKilledOneIsNamedUnlessAllWere) {
  std::vector<RankFacts> job = Job(4);
  job[3] = Rank(3, 50);
  job[3].was_killed = true;
  EXPECT_EQ(Found(job), "was killed 3");
  for (RankFacts& rank : job) rank.was_killed = true;
  EXPECT_EQ(Found(job), "");
}

TEST(OddRanksTest, OneThatStoppedEarlyIsNamed) {
  std::vector<RankFacts> job = Job(4);
  job[0].summary.steps = 89;
  EXPECT_EQ(Found(job), "stopped early 0");
  job[0].summary.steps = 90;
  EXPECT_EQ(Found(job), "");
}

TEST(OddRanksTest, WhatCouldNotBeReadWholeIsNotCompared) {
  std::vector<RankFacts> job = Job(4);
  job[1].sites.push_back(Growing(300));
  job[1].is_sound = false;
  EXPECT_EQ(Found(job), "");
}

TEST(OddRanksTest, TheLastAttemptSpeaksAndTheOthersAreCounted) {
  std::vector<RankFacts> job = Job(2);
  for (const double start : {0.5, 0.2}) {
    job.push_back(Rank(1, 3));
    job.back().start_seconds = start;
  }
  const std::vector<RankFacts> last = LastAttempts(std::move(job));
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[1].summary.steps, 100);
  EXPECT_EQ(last[1].summary.earlier_attempts, 2);
}

}  // namespace
}  // namespace plateau::report
