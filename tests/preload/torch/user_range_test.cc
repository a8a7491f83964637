#include "preload/torch/user_range.h"

#include <gtest/gtest.h>

namespace plateau {
namespace {

TEST(UserRangeTest, OptimizerStepNamesItsClass) {
  const UserRange range = ParseUserRange("Optimizer.step#AdamW.step");
  EXPECT_EQ(range.kind, RangeKind::kOptimizerStep);
  EXPECT_EQ(range.detail, "AdamW");
}

TEST(UserRangeTest, ZeroGradIsNotAStep) {
  const UserRange range = ParseUserRange("Optimizer.zero_grad#SGD.zero_grad");
  EXPECT_EQ(range.kind, RangeKind::kZeroGrad);
  EXPECT_EQ(range.detail, "SGD");
}

TEST(UserRangeTest, BothDataLoaderIteratorsAreFetches) {
  for (const char* name : {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                           "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"}) {
    EXPECT_EQ(ParseUserRange(name).kind, RangeKind::kFetch) << name;
  }
}

TEST(UserRangeTest, RangesOfTheUserAndEmptyNamesSayNothing) {
  for (const char* name : {"", "Optimizer.step", "my Optimizer.step#AdamW.step", "aten::add", "forward"}) {
    EXPECT_EQ(ParseUserRange(name).kind, RangeKind::kOther) << name;
    EXPECT_TRUE(ParseUserRange(name).detail.empty());
  }
}

TEST(UserRangeTest, ANameWithoutAMethodIsKeptWhole) {
  EXPECT_EQ(ParseUserRange("Optimizer.step#Lion").detail, "Lion");
}

}  // namespace
}  // namespace plateau
