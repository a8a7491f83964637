#include "analyzer/replay/definitions/left_out_marks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plateau::replay {
namespace {

using trace::MarkKind;

TimedMark At(uint64_t time, MarkKind kind, uint64_t value = 0) {
  return {time, 1, kind, trace::MarkSource::kExplicit, value, ""};
}

std::vector<uint64_t> TimesOf(const std::vector<TimedMark>& marks, MarkKind kind) {
  std::vector<uint64_t> times;
  for (const TimedMark& mark : marks) {
    if (mark.kind == kind) times.push_back(mark.tsc);
  }
  return times;
}

TEST(LeftOutMarksTest, NothingLeftOutChangesNothing) {
  std::vector<TimedMark> marks = {At(10, MarkKind::kStep), At(20, MarkKind::kStep)};
  const LeftOutMarks counts = DrawLeftOutMarks(0, 1000, &marks);
  EXPECT_EQ(counts.groups, 0u);
  EXPECT_EQ(marks.size(), 2u);
}

TEST(LeftOutMarksTest, MissingGroupsAreDrawnAtEqualDistances) {
  std::vector<TimedMark> marks = {At(100, MarkKind::kMarksLeftOut, 0), At(100, MarkKind::kStep),
                                  At(105, MarkKind::kZeroGrad),        At(110, MarkKind::kStep),
                                  At(400, MarkKind::kMarksLeftOut, 2), At(400, MarkKind::kStep)};
  const LeftOutMarks counts = DrawLeftOutMarks(0, 1000, &marks);
  EXPECT_EQ(counts.groups, 2u);
  EXPECT_EQ(counts.groups_drawn, 2u);
  EXPECT_EQ(TimesOf(marks, MarkKind::kStep), (std::vector<uint64_t>{100, 110, 200, 210, 300, 310, 400}));
  EXPECT_EQ(TimesOf(marks, MarkKind::kZeroGrad), (std::vector<uint64_t>{105, 205, 305}));
  EXPECT_TRUE(TimesOf(marks, MarkKind::kMarksLeftOut).empty());
  EXPECT_TRUE(std::is_sorted(marks.begin(), marks.end(),
                             [](const TimedMark& a, const TimedMark& b) { return a.tsc < b.tsc; }));
}

TEST(LeftOutMarksTest, AnEvaluationInOneGroupIsNotCopiedIntoAll) {
  std::vector<TimedMark> marks;
  const auto group = [&](uint64_t begin, uint64_t left_out, bool evaluates) {
    marks.push_back(At(begin, MarkKind::kMarksLeftOut, left_out));
    marks.push_back(At(begin, MarkKind::kStep));
    if (evaluates) {
      marks.push_back(At(begin + 1, MarkKind::kEpoch));
      for (uint64_t i = 2; i < 7; ++i) marks.push_back(At(begin + i, MarkKind::kFetchBegin));
    }
  };
  group(0, 0, false);
  group(10, 0, true);
  group(50, 3, false);
  DrawLeftOutMarks(0, 1000, &marks);
  EXPECT_EQ(TimesOf(marks, MarkKind::kStep), (std::vector<uint64_t>{0, 10, 20, 30, 40, 50}));
  EXPECT_EQ(TimesOf(marks, MarkKind::kFetchBegin).size(), 5u);
  EXPECT_EQ(TimesOf(marks, MarkKind::kEpoch).size(), 1u);
}

TEST(LeftOutMarksTest, GroupsThatAreLongerThanTheirPlaceAreMadeShorter) {
  std::vector<TimedMark> marks = {At(0, MarkKind::kMarksLeftOut, 0), At(0, MarkKind::kStep),
                                  At(50, MarkKind::kStep), At(100, MarkKind::kMarksLeftOut, 9)};
  DrawLeftOutMarks(0, 1000, &marks);
  const std::vector<uint64_t> times = TimesOf(marks, MarkKind::kStep);
  EXPECT_EQ(times.size(), 20u);
  EXPECT_LT(times.back(), 100u);
}

TEST(LeftOutMarksTest, AMarkWithoutAGroupSaysWhereStepsWere) {
  std::vector<TimedMark> marks = {At(0, MarkKind::kMarksLeftOut, 0),   At(0, MarkKind::kStep),
                                  At(40, MarkKind::kMarksLeftOut, 3),   // 10, 20, 30
                                  At(140, MarkKind::kMarksLeftOut, 1),  // 40
                                  At(150, MarkKind::kMarksLeftOut, 1), At(150, MarkKind::kStep)};
  DrawLeftOutMarks(0, 1000, &marks);
  EXPECT_EQ(TimesOf(marks, MarkKind::kStep), (std::vector<uint64_t>{0, 10, 20, 30, 40, 140, 150}));
}

TEST(LeftOutMarksTest, GroupsAfterTheLastMarkAreDrawnUpToTheEnd) {
  std::vector<TimedMark> marks = {At(0, MarkKind::kMarksLeftOut, 0), At(0, MarkKind::kStep),
                                  At(20, MarkKind::kMarksLeftOut, 1), At(20, MarkKind::kStep)};
  const LeftOutMarks counts = DrawLeftOutMarks(5, 50, &marks);
  EXPECT_EQ(TimesOf(marks, MarkKind::kStep), (std::vector<uint64_t>{0, 10, 20, 30, 40}));
  EXPECT_EQ(counts.groups, 3u);
  EXPECT_EQ(counts.groups_drawn, 3u);
}

TEST(LeftOutMarksTest, ADamagedCountIsNotDrawn) {
  std::vector<TimedMark> marks = {At(0, MarkKind::kMarksLeftOut, 0), At(0, MarkKind::kStep),
                                  At(100, MarkKind::kMarksLeftOut, UINT64_MAX / 2), At(100, MarkKind::kStep)};
  const LeftOutMarks counts = DrawLeftOutMarks(0, 1000, &marks);
  EXPECT_EQ(counts.groups, UINT64_MAX / 2);
  EXPECT_EQ(counts.groups_drawn, 0u);
  EXPECT_EQ(marks.size(), 2u);
}

}  // namespace
}  // namespace plateau::replay
