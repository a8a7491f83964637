#include "analyzer/report/page/downsample.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

TEST(ThinLedgerTest, KeepsEndsExtremesAndWholeRows) {
  std::vector<LedgerReading> ledger(10000);
  for (size_t i = 0; i < ledger.size(); ++i) {
    ledger[i].step = static_cast<double>(i);
    ledger[i].rss_bytes = 1000 + static_cast<int64_t>(i % 7);
    ledger[i].live_bytes = ledger[i].rss_bytes - 1;
  }
  ledger[5432].rss_bytes = 999999;
  ledger[5432].live_bytes = 999998;
  const std::vector<LedgerReading> thin = ThinLedger(ledger, 200);
  EXPECT_LE(thin.size(), 200u);
  EXPECT_EQ(thin.front().step, 0);
  EXPECT_EQ(thin.back().step, 9999);
  bool spike = false;
  for (size_t i = 0; i < thin.size(); ++i) {
    spike |= thin[i].step == 5432;
    EXPECT_EQ(thin[i].live_bytes, thin[i].rss_bytes - 1);
    if (i > 0) {
      EXPECT_GT(thin[i].step, thin[i - 1].step);
    }
  }
  EXPECT_TRUE(spike);
}

TEST(ThinLedgerTest, ShortLedgerIsLeftAlone) {
  EXPECT_EQ(ThinLedger(std::vector<LedgerReading>(5), 2000).size(), 5u);
  EXPECT_TRUE(ThinLedger({}, 2000).empty());
}

TEST(BucketsTest, SumsAddUpAndLevelsAreTheLast) {
  std::vector<int64_t> values(1003);
  std::iota(values.begin(), values.end(), 0);
  const std::vector<size_t> starts = BucketStarts(values.size(), 100);
  ASSERT_EQ(starts.size(), 100u);
  const std::vector<int64_t> sums = SumBuckets(values, starts);
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), int64_t{0}),
            std::accumulate(values.begin(), values.end(), int64_t{0}));
  EXPECT_EQ(LastOfBuckets(values, starts).back(), 1002);
  EXPECT_EQ(LastOfBuckets(values, starts).front(), static_cast<int64_t>(starts[1]) - 1);
  EXPECT_TRUE(SumBuckets({}, BucketStarts(0, 10)).empty());
}

StackTreeNode Sum(const std::vector<StackTreeNode>& stacks) {
  StackTreeNode sum;
  for (const StackTreeNode& node : stacks) {
    sum.retained_bytes += node.retained_bytes;
    sum.retained_count += node.retained_count;
    sum.peak_bytes += node.peak_bytes;
    sum.temporary_bytes += node.temporary_bytes;
    sum.alloc_bytes += node.alloc_bytes;
    sum.alloc_count += node.alloc_count;
  }
  return sum;
}

TEST(PruneStacksTest, StaysSmallAndAddsUp) {
  const ReportModel model = BigModel(50, 20000);
  for (size_t limit : {10u, 100u, 5000u}) {
    const auto smaller = static_cast<uint32_t>(model.frames.size());
    const std::vector<StackTreeNode> pruned = PruneStacks(model.stacks, limit, smaller);
    EXPECT_LE(pruned.size(), limit + 1);
    const StackTreeNode sum = Sum(pruned);
    EXPECT_EQ(sum.retained_bytes, model.totals.retained_bytes);
    EXPECT_EQ(sum.retained_count, model.totals.retained_count);
    EXPECT_EQ(sum.peak_bytes, model.totals.peak_bytes);
    EXPECT_EQ(sum.temporary_bytes, model.totals.temporary_bytes);
    EXPECT_EQ(sum.alloc_bytes, model.totals.alloc_bytes);
    EXPECT_EQ(sum.alloc_count, model.totals.alloc_count);
    for (size_t i = 0; i < pruned.size(); ++i) EXPECT_LT(pruned[i].parent, static_cast<int32_t>(i));
  }
}

TEST(PruneStacksTest, LargestStacksStayAndTheRestHasAName) {
  std::vector<StackTreeNode> stacks = {{.parent = -1, .frame = 0}};
  for (int i = 0; i < 100; ++i) {
    stacks.push_back(
        {.parent = 0, .frame = static_cast<uint32_t>(i + 1), .retained_bytes = i == 42 ? 1000000 : 1});
  }
  const std::vector<StackTreeNode> pruned = PruneStacks(stacks, 6, 777);
  bool large = false;
  int64_t smaller = 0;
  for (const StackTreeNode& node : pruned) {
    large |= node.frame == 43;
    if (node.frame == 777) smaller += node.retained_bytes;
  }
  EXPECT_TRUE(large);
  EXPECT_GT(smaller, 90);
}

}  // namespace
}  // namespace plateau::report
