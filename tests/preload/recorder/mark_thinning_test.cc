#include "preload/recorder/mark_thinning.h"

#include <gtest/gtest.h>

#include "preload/trace/mark_groups.h"

namespace plateau {
namespace {

using trace::MarkKind;
using trace::MarkRecord;
using trace::MarkSource;

constexpr uint64_t kNoRoom = 4096;

MarkRecord Of(MarkKind kind, uint64_t value = 0) { return {kind, MarkSource::kRecordFunction, value, {}}; }

struct Counts {
  uint64_t steps_written = 0;
  uint64_t bytes = 0;
  uint64_t groups_left_out = 0;
};

// Steps of a training loop.
Counts Train(MarkThinning* thinning, uint64_t steps, uint64_t room) {
  Counts counts;
  for (uint64_t i = 0; i < steps; ++i) {
    for (const MarkKind kind : {MarkKind::kZeroGrad, MarkKind::kBackwardBegin, MarkKind::kStep}) {
      const MarkThinning::Choice choice = thinning->Choose(Of(kind), room);
      counts.steps_written += choice.keeps && kind == MarkKind::kStep;
      counts.bytes += choice.keeps ? 16 : 0;
      counts.groups_left_out += choice.left_out;
      EXPECT_TRUE(choice.keeps || !choice.begins_group);
    }
  }
  return counts;
}

TEST(MarkThinningTest, AllAreWrittenUntilHalfOfTheRoomIsUsed) {
  MarkThinning thinning;
  const Counts counts = Train(&thinning, 1000, 2 * 16 * 3 * 1000);
  EXPECT_EQ(counts.steps_written, 1000u);
  EXPECT_EQ(counts.groups_left_out, 0u);
}

TEST(MarkThinningTest, AnyNumberOfStepsFitsAndTheMissingAreTold) {
  for (const uint64_t steps : {10'000u, 100'000u, 1'000'000u, 10'000'000u}) {
    MarkThinning thinning;
    constexpr uint64_t kRoom = 256 * 1024;
    const Counts counts = Train(&thinning, steps, kRoom);
    EXPECT_LT(counts.bytes, kRoom + kRoom / 4) << steps;
    EXPECT_GE(counts.steps_written, 1000u) << steps;
    const uint64_t told = counts.steps_written + counts.groups_left_out * trace::kStepsOfAGroup;
    EXPECT_LE(told, steps);
    EXPECT_GT(told, steps - steps / 8) << "only those behind the last that was written are not told";
  }
}

TEST(MarkThinningTest, LittleRoomStillHasGroupsOfEveryPartOfTheRun) {
  MarkThinning thinning;
  const uint64_t steps = 1'000'000;
  const Counts counts = Train(&thinning, steps, kNoRoom);
  EXPECT_GE(counts.steps_written, MarkThinning::kGroupsAtLeast * trace::kStepsOfAGroup);
  EXPECT_LT(counts.bytes, 100'000u);
  const uint64_t told = counts.steps_written + counts.groups_left_out * trace::kStepsOfAGroup;
  EXPECT_GT(told, steps - steps / 8);
}

// A state in which the group is left out.
void LeaveOut(MarkThinning* thinning) {
  Train(thinning, 8 * 1000, kNoRoom);
  for (int i = 0; i < 1000 && thinning->Choose(Of(MarkKind::kStep), kNoRoom).keeps; ++i) {
  }
  ASSERT_FALSE(thinning->Choose(Of(MarkKind::kZeroGrad), kNoRoom).keeps);
}

TEST(MarkThinningTest, WhatIsRareIsAlwaysWritten) {
  MarkThinning thinning;
  LeaveOut(&thinning);
  for (const MarkKind kind :
       {MarkKind::kEpoch, MarkKind::kPhaseBegin, MarkKind::kPhaseEnd, MarkKind::kNote}) {
    EXPECT_TRUE(thinning.Choose(Of(kind), kNoRoom).keeps);
  }
}

TEST(MarkThinningTest, OnlyChangesOfTheModeAreWrittenInALeftOutGroup) {
  MarkThinning thinning;
  LeaveOut(&thinning);
  EXPECT_TRUE(thinning.Choose(Of(MarkKind::kTrainMode, 1), kNoRoom).keeps);
  EXPECT_FALSE(thinning.Choose(Of(MarkKind::kTrainMode, 1), kNoRoom).keeps);
  EXPECT_TRUE(thinning.Choose(Of(MarkKind::kTrainMode, 0), kNoRoom).keeps);
}

TEST(MarkThinningTest, TheEndOfAPassHasItsFetch) {
  MarkThinning thinning;
  LeaveOut(&thinning);
  ASSERT_FALSE(thinning.Choose(Of(MarkKind::kFetchBegin, 77), kNoRoom).keeps);
  const MarkThinning::Choice stop = thinning.Choose(Of(MarkKind::kFetchStop), kNoRoom);
  EXPECT_TRUE(stop.keeps);
  EXPECT_TRUE(stop.needs_fetch);
  EXPECT_EQ(stop.fetch_value, 77u);
  EXPECT_FALSE(thinning.Choose(Of(MarkKind::kFetchStop), kNoRoom).needs_fetch);
}

TEST(MarkThinningTest, AProgramWithoutStepsIsThinnedByItsFetches) {
  MarkThinning thinning;
  uint64_t written = 0;
  for (int i = 0; i < 100'000; ++i) {
    for (const MarkKind kind : {MarkKind::kFetchBegin, MarkKind::kFetchEnd}) {
      written += thinning.Choose(Of(kind), kNoRoom).keeps;
    }
  }
  EXPECT_LT(written, 10'000u);
}

}  // namespace
}  // namespace plateau
