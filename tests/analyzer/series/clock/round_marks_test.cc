#include "analyzer/series/clock/round_marks.h"

#include <gtest/gtest.h>

#include <string>

namespace plateau::series {
namespace {

class Marks {
 public:
  void Add(uint64_t time, const std::string& loop, uint64_t rounds) {
    log_.Add(time, 1, trace::MarkKind::kNote, trace::MarkSource::kSiteCustomize, rounds, "round " + loop);
  }
  std::optional<WorkClock> Clock() {
    log_.Finish();
    return ClockOfRounds(log_, 0);
  }

 private:
  MarkLog log_;
};

TEST(RoundMarks, EveryRoundHasItsEnd) {
  Marks marks;
  for (uint64_t i = 1; i <= 100; ++i) marks.Add(1000 * i, "train.py:21", i);
  const auto clock = marks.Clock();
  ASSERT_TRUE(clock.has_value());
  EXPECT_EQ(clock->source, StepSource::kRounds);
  EXPECT_EQ(clock->loop, "train.py:21");
  ASSERT_EQ(clock->ends.size(), 100u);
  EXPECT_EQ(clock->ends[41], 42000u);
  EXPECT_EQ(clock->begin, 0u);
  EXPECT_TRUE(clock->epoch_ends.empty());
}

TEST(RoundMarks, RoundsBetweenTwoMarksAreDrawnAtEqualDistances) {
  Marks marks;
  marks.Add(1000, "train.py:21", 1);
  for (uint64_t i = 1; i <= 10; ++i) marks.Add(1000 + 1000 * i, "train.py:21", 1 + 10 * i);
  const auto clock = marks.Clock();
  ASSERT_TRUE(clock.has_value());
  ASSERT_EQ(clock->ends.size(), 101u);
  EXPECT_EQ(clock->ends[1], 1100u);
  EXPECT_EQ(clock->ends[100], 11000u);
}

TEST(RoundMarks, TheLastNumberThatIsWrittenAtTheExitDoesNotStretchTheLastRounds) {
  Marks marks;
  for (uint64_t i = 1; i <= 100; ++i) marks.Add(1000 * i, "train.py:21", i);
  marks.Add(9'000'000, "train.py:21", 102);
  const auto clock = marks.Clock();
  ASSERT_EQ(clock->ends.size(), 102u);
  EXPECT_EQ(clock->ends.back(), 102000u);
}

TEST(RoundMarks, ALoopAroundItGivesEpochs) {
  Marks marks;
  for (uint64_t i = 1; i <= 400; ++i) {
    marks.Add(1000 * i, "train.py:13", i);
    if (i % 40 == 0) marks.Add(1000 * i + 500, "train.py:12", i / 40);
  }
  const auto clock = marks.Clock();
  ASSERT_TRUE(clock.has_value());
  EXPECT_EQ(clock->loop, "train.py:13");
  EXPECT_EQ(clock->epoch_loop, "train.py:12");
  const StepClock steps = StepClock::OfWork(*clock, {.begin_time = 0, .end_time = 500000});
  EXPECT_EQ(steps.step_count(), 400u);
  EXPECT_EQ(steps.complete_epochs(), 10u);
  EXPECT_EQ(steps.steps_per_epoch(), 40);
  EXPECT_EQ(steps.unit(), "round");
  EXPECT_EQ(steps.sentence(),
            "400 steps: rounds of the loop at train.py:13, each counted. 10 epochs completed, 40 steps each "
            "(rounds of "
            "train.py:12).");
}

TEST(RoundMarks, ALoopWithADifferentNumberOfRoundsInsideGivesNone) {
  Marks marks;
  uint64_t rounds = 0, episodes = 0;
  for (uint64_t length : {10, 35, 22, 60, 17, 48, 31, 9, 55, 27}) {
    for (uint64_t i = 0; i < length; ++i) {
      ++rounds;
      marks.Add(1000 * rounds, "rl.py:20", rounds);
    }
    marks.Add(1000 * rounds + 500, "rl.py:18", ++episodes);
  }
  EXPECT_TRUE(marks.Clock()->epoch_ends.empty());
}

TEST(RoundMarks, ALoopThatWasLeftAloneIsNoClock) {
  Marks marks;
  for (uint64_t i = 1; i <= 100; ++i) marks.Add(10 * i, "work.py:3", i);
  marks.Add(2000, "work.py:3", 0);
  EXPECT_FALSE(marks.Clock().has_value());
}

TEST(RoundMarks, MoreRoundsThanAnybodyCanUseAreNotDrawn) {
  Marks marks;
  marks.Add(1000, "work.py:3", 1);
  marks.Add(2000, "work.py:3", UINT64_MAX);
  EXPECT_FALSE(marks.Clock().has_value());
}

}  // namespace
}  // namespace plateau::series
