#include "analyzer/series/tensor_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plateau::series {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(TensorSeriesTest, LevelsAreThoseAtTheEndOfEachStep) {
  TensorSeries tensors;
  tensors.OnTensor(3, 1, 100, 0);
  tensors.OnTensor(3, 1, 50, 2);
  tensors.OnTensor(3, 1, 7, 2);
  tensors.OnTensor(3, -1, -7, 2);
  tensors.OnTensor(3, -1, -100, 4);
  const TensorLevels levels = tensors.Levels(3, 1, 5);
  EXPECT_THAT(levels.count, ElementsAre(1, 1, 2, 2, 1, 1));
  EXPECT_THAT(levels.bytes, ElementsAre(100, 100, 150, 150, 50, 50));
}

TEST(TensorSeriesTest, SitesWithoutTensorsHaveNoLevels) {
  TensorSeries tensors;
  tensors.OnTensor(2, 1, 10, 1);
  EXPECT_TRUE(tensors.Levels(0, 1, 5).empty());
  EXPECT_TRUE(tensors.Levels(99, 1, 5).empty());
  EXPECT_FALSE(tensors.Levels(2, 1, 5).empty());
}

TEST(TensorSeriesTest, WiderBucketsKeepTheLevelAtTheirEnd) {
  TensorSeries tensors;
  for (int step = 0; step <= 8; ++step) tensors.OnTensor(0, 1, 10, step);
  // Bucket 0 is what came before the first step; buckets of two steps follow.
  EXPECT_THAT(tensors.Levels(0, 2, 4).count, ElementsAre(1, 3, 5, 7, 9));
}

TEST(TensorSeriesTest, ALongRunIsMergedAndEndsAtTheSameLevel) {
  TensorSeries tensors;
  constexpr int64_t kSteps = 10 * TensorSeries::kMaxBuckets;
  for (int64_t step = 1; step <= kSteps; ++step) {
    tensors.OnTensor(0, 1, 4, step);
    if (step % 2 == 0) tensors.OnTensor(0, -1, -4, step);
  }
  EXPECT_EQ(tensors.bucket_steps(), 16);
  const TensorLevels levels = tensors.Levels(0, 16, kSteps / 16);
  EXPECT_THAT(levels.count.front(), DoubleEq(0));
  EXPECT_THAT(levels.count[1], DoubleEq(8));
  EXPECT_THAT(levels.count.back(), DoubleEq(kSteps / 2));
  EXPECT_THAT(levels.bytes.back(), DoubleEq(4 * kSteps / 2));
}

}  // namespace
}  // namespace plateau::series
