#include "analyzer/series/clock/loops/round_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace plateau::series {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// `count` events, the first at `first`, one every `distance`.
Events Every(uint32_t distance, size_t count, uint32_t first = 0) {
  Events events;
  for (uint32_t i = 0; i < count; ++i) events.push_back(first + i * distance);
  return events;
}

TEST(RoundCountsTest, OnlyWholeRoundsCount) {
  EXPECT_THAT(CountsPerRound({1, 12, 15, 25, 99}, {10, 20, 30}), ElementsAre(2, 1));
  EXPECT_THAT(CountsPerRound({1, 2}, {10}), IsEmpty());
}

TEST(RoundCountsTest, TheCommonestCountComesWithItsNumber) {
  EXPECT_EQ(Commonest({3, 1, 3, 2, 3}), std::pair(size_t{3}, size_t{3}));
  EXPECT_EQ(CountOf({3, 1, 3}, 1), 1u);
  EXPECT_EQ(CountOf({3, 1, 3}, 7), 0u);
}

TEST(RoundCountsTest, NumbersAreAlikeWithinOneRoundOrTwoPercent) {
  EXPECT_TRUE(AreAlike(20, 21));
  EXPECT_FALSE(AreAlike(20, 22));
  EXPECT_TRUE(AreAlike(1000, 1020));
  EXPECT_FALSE(AreAlike(1000, 1030));
}

TEST(RoundCountsTest, EventsAsFarApartAsRoundsTellOfRoundsThatWereMissed) {
  Events rounds = Every(10, 40);
  Events events = Every(10, 40, 5);
  const auto time_of = [](uint32_t event) { return uint64_t{event} * 100; };
  EXPECT_FALSE(AreRoundsBetween(events, rounds, time_of));  // nothing was missed
  rounds.erase(rounds.begin() + 7, rounds.begin() + 12);
  rounds.erase(rounds.begin() + 20);
  EXPECT_TRUE(AreRoundsBetween(events, rounds, time_of));
  // Two requests of one round.
  Events twice = Every(10, 40, 5);
  for (const uint32_t round : {50, 120, 300}) twice.push_back(round + 6);
  std::sort(twice.begin(), twice.end());
  EXPECT_FALSE(AreRoundsBetween(twice, Every(10, 40), time_of));
  // One that is not in each of them.
  events.erase(events.begin() + 30, events.begin() + 33);
  EXPECT_FALSE(AreRoundsBetween(events, rounds, time_of));
}

TEST(RoundCountsTest, StacksThatWereMetEquallyOftenHaveTheRightNumber) {
  const Events late = Every(10, 40, 5), early = Every(10, 40, 2);
  EXPECT_EQ(EqualStacks({&late, &early}, 41), &early);
  EXPECT_EQ(EqualStacks({&late, &early}, 60), nullptr);  // far from what was seen
  const Events more = Every(10, 45, 1);                  // met in rounds in which the two were not met
  EXPECT_EQ(EqualStacks({&more, &late, &early}, 41), nullptr);
  const Events several = Every(5, 80, 1);  // met twice in each round
  EXPECT_EQ(EqualStacks({&several, &late, &early}, 41), &early);
}

TEST(RoundCountsTest, MostListsDecideAndThenTheLongerOne) {
  const Events a = Every(10, 100), b = Every(10, 101, 3), c = Every(10, 50);
  EXPECT_EQ(MostAgreed({&c, &a, &b}), &b);
  EXPECT_EQ(MostAgreed({}), nullptr);
}

TEST(RoundCountsTest, StacksThatTakeTurnsBeginWithTheFirstOfARound) {
  const Events second = Every(10, 30, 7), first = Every(10, 30, 4);
  EXPECT_EQ(InTurns({&second, &first}), &first);
  EXPECT_EQ(InTurns({&second}), nullptr);
  const Events crowded = Every(1, 30, 4);  // as many, all of them in three rounds
  EXPECT_EQ(InTurns({&second, &crowded}), nullptr);
}

TEST(RoundCountsTest, EpochsHoldTheSameNumberOfRounds) {
  const Events begins = Every(10, 60);
  EXPECT_THAT(EpochEnds({0, 200, 400}, begins), ElementsAre(20, 40, 60));
  EXPECT_THAT(EpochEnds({0, 50, 400}, begins), IsEmpty());  // 5 rounds and 35
  EXPECT_THAT(EpochEnds({0}, begins), IsEmpty());
}

}  // namespace
}  // namespace plateau::series
