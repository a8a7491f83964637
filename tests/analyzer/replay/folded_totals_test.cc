#include "analyzer/replay/folded_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace plateau::replay {
namespace {

using ::testing::ElementsAre;

std::vector<FoldedPart> Add(FoldedTotals* totals, const trace::FoldTotalsRecord& now, uint32_t bucket) {
  std::vector<FoldedPart> parts;
  totals->Add(now, bucket, [&](const FoldedPart& part) { parts.push_back(part); });
  return parts;
}

TEST(FoldedTotalsTest, DifferenceIsEvenOverTheBucketsBetween) {
  FoldedTotals totals(100);
  totals.Begin(10);
  const auto parts = Add(&totals, {7, 3 * 256, 3000, 0, 0}, 14);
  ASSERT_EQ(parts.size(), 4u);
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(parts[i].stack, 7u);
    EXPECT_EQ(parts[i].bucket, 11 + i);
    EXPECT_EQ(parts[i].alloc_bytes, 750);
    EXPECT_EQ(parts[i].alloc_count, 0.75);
  }
  const auto later = Add(&totals, {7, 3 * 256, 3000, 256, 500}, 14);
  ASSERT_EQ(later.size(), 1u) << "the same bucket again";
  EXPECT_EQ(later[0].alloc_bytes, 0);
  EXPECT_EQ(later[0].free_bytes, 500);
}

TEST(FoldedTotalsTest, PartsOfALongRunAreEvenInMergedBuckets) {
  constexpr uint32_t kBuckets = 5000;  // a series merges these by 8
  FoldedTotals totals(kBuckets);
  totals.Begin(3);
  std::map<uint32_t, double> merged;
  size_t count = 0;
  for (const uint32_t bucket : {1001u, 1002u, 4999u}) {
    for (const FoldedPart& part : Add(&totals, {1, bucket * 256, bucket * 100 - 300, 0, 0}, bucket)) {
      merged[(part.bucket + 7) / 8] += part.alloc_bytes;
      ++count;
    }
  }
  EXPECT_LT(count, 1100u);
  merged.erase(merged.begin());  // the first and the last are not whole
  merged.erase(std::prev(merged.end()));
  for (const auto& [bucket, bytes] : merged) EXPECT_NEAR(bytes, 800, 1e-6) << bucket;
}

TEST(FoldedTotalsTest, SmallerTotalsThanKnownAreIgnored) {
  FoldedTotals totals(10);
  EXPECT_EQ(Add(&totals, {1, 512, 100, 0, 0}, 1).size(), 1u);
  EXPECT_EQ(Add(&totals, {1, 256, 90, 0, 0}, 2).size(), 0u);
  const auto parts = Add(&totals, {1, 768, 130, 0, 0}, 2);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].alloc_bytes, 30);
}

TEST(LateLevelsTest, ALevelMissesWhatCameAfterIt) {
  LateLevels late;
  late.Add(1, 3, 10);
  late.Add(2, 3, 5);
  late.Add(3, 3, 7);  // in time
  EXPECT_THAT(late.Missing(), ElementsAre(0, 10, 15, 0));
}

}  // namespace
}  // namespace plateau::replay
