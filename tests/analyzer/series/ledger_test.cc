#include "analyzer/series/ledger.h"

#include <gtest/gtest.h>

#include "analyzer/series/copy_on_write.h"

namespace plateau::series {
namespace {

LedgerSample Sample(double step) {
  LedgerSample sample;
  sample.step = step;
  sample.rss_anon = 1000;
  sample.rss_file = 200;
  sample.rss_shmem = 50;
  sample.allocator_held = 700;
  sample.live = 600;
  sample.mapped_live = 150;
  sample.own = 30;
  sample.live_peak = 900;
  return sample;
}

TEST(LedgerTest, PartsAddUpToRss) {
  const LedgerParts parts = Decompose(Sample(1));
  EXPECT_EQ(parts.rss, 1250);
  EXPECT_EQ(parts.live, 750);
  EXPECT_EQ(parts.allocator_gap, 100);
  EXPECT_EQ(parts.unexplained, 1250 - 750 - 100 - 200 - 50 - 30);
  EXPECT_EQ(parts.sum(), parts.rss);
}

TEST(LedgerTest, WhatArenasHoldBeyondTheirObjectsIsAllocatorGap) {
  LedgerSample sample = Sample(1);
  sample.pool_slack = 40;  // live Python objects are in mapped_live, their arenas are larger
  const LedgerParts parts = Decompose(sample);
  EXPECT_EQ(parts.live, 750);
  EXPECT_EQ(parts.allocator_gap, 140);
  EXPECT_EQ(parts.sum(), parts.rss);
}

TEST(LedgerTest, UntouchedMemoryMakesTheRemainderNegative) {
  LedgerSample sample = Sample(1);
  sample.live = 5000;  // asked for, never written
  sample.allocator_held = 5100;
  const LedgerParts parts = Decompose(sample);
  EXPECT_EQ(parts.allocator_gap, 100);
  EXPECT_EQ(parts.unexplained, 1250 - 5150 - 100 - 280);
  EXPECT_EQ(parts.sum(), parts.rss);
}

TEST(LedgerTest, WhatIsKnownToBeUntouchedIsNotHeldByTheAllocator) {
  LedgerSample sample = Sample(1);
  sample.allocator_held = 5100;  // with a block of 5000, of which 600 are in memory
  sample.untouched = 4400;
  const LedgerParts parts = Decompose(sample);
  EXPECT_EQ(parts.allocator_gap, 100);
  EXPECT_EQ(parts.unexplained, 1250 - 750 - 100 - 280);
}

TEST(LedgerTest, AnEstimateAboveTheTruthMakesTheGapNegativeAndNothingElse) {
  LedgerSample sample = Sample(1);
  sample.live = 800;  // sampled; the allocator holds 700
  const LedgerParts parts = Decompose(sample);
  EXPECT_EQ(parts.allocator_gap, -100);
  EXPECT_EQ(parts.unexplained, Decompose(Sample(1)).unexplained);
  EXPECT_EQ(parts.sum(), parts.rss);
}

TEST(LedgerTest, LastSampleOfAStepCountsAndThePeakIsKept) {
  LedgerSample first = Sample(3);
  first.live_peak = 5000;
  LedgerSample second = Sample(3);
  second.rss_anon = 2000;
  const ProcessSeries series = ToProcessSeries({Sample(2), first, second});
  ASSERT_EQ(series.step.size(), 2u);
  EXPECT_EQ(series.rss[1], 2000 + 200 + 50 - 30) << "without Plateau's own bytes";
  EXPECT_EQ(series.live_peak[1], 5000);
  EXPECT_EQ(series.held[1], 700 + 150);
}

TEST(LedgerTest, GrowthBetweenTwoReadingsOfTheAllocatorIsTheAllocators) {
  LedgerSample unread = Sample(2);
  unread.allocator_held = 0;
  unread.rss_anon += 80;  // fragmentation, live unchanged
  LedgerSample read = Sample(3);
  read.rss_anon += 80;  // the allocator says that it was not its growth
  const auto parts = Decompose(std::vector<LedgerSample>{Sample(1), unread, read});
  EXPECT_EQ(parts[0].allocator_gap, 100);
  EXPECT_EQ(parts[1].allocator_gap, 180);
  EXPECT_EQ(parts[1].unexplained, parts[0].unexplained);
  EXPECT_EQ(parts[2].allocator_gap, 100);
  EXPECT_EQ(parts[2].unexplained, parts[0].unexplained + 80);
  const ProcessSeries series = ToProcessSeries({Sample(1), unread, read});
  EXPECT_EQ(series.held[1] - series.live[1], 180);
  for (const LedgerParts& part : parts) EXPECT_EQ(part.sum(), part.rss);
}

TEST(CopyOnWriteTest, CopiedPagesBelongToTheBlocksUnderThem) {
  CopyOnWrite copies;
  const size_t worker = copies.AddWorker({{0x1000, 0x4000}});
  copies.AddBlock(worker, 0x3000, 0x1000, 1, 7);
  copies.AddBlock(worker, 0x1000, 0x1000, 1, 3);
  copies.AddBlock(worker, 0x9000, 0x1000, 1, 5);  // still shared
  const CopyOnWriteAttribution result = copies.Finish();
  ASSERT_EQ(result.sites.size(), 2u);
  EXPECT_EQ(result.sites[0].site, 3u);
  EXPECT_EQ(result.sites[0].bytes, 0x1000);
  EXPECT_EQ(result.sites[1].site, 7u);
  EXPECT_EQ(result.without_block, 0x1000);
}

TEST(CopyOnWriteTest, BlockOverSeveralRunsCountsWhereItWasCopied) {
  CopyOnWrite copies;
  const size_t worker = copies.AddWorker({{0x1000, 0x2000}, {0x3000, 0x4000}, {0x8000, 0x9000}});
  copies.AddBlock(worker, 0x1800, 0x2000, 1, 1);
  const CopyOnWriteAttribution result = copies.Finish();
  ASSERT_EQ(result.sites.size(), 1u);
  EXPECT_EQ(result.sites[0].bytes, 0x800 + 0x800);
  EXPECT_EQ(result.without_block, 0x3000 - 0x1000);
}

TEST(CopyOnWriteTest, WorkersAddUpAndSamplesNeverExceedWhatWasCopied) {
  CopyOnWrite copies;
  for (int i = 0; i < 2; ++i) {
    const size_t worker = copies.AddWorker({{0x1000, 0x2000}});
    copies.AddBlock(worker, 0x1100, 0x100, 30, 1);  // stands for 30 like it
    copies.AddBlock(worker, 0x1200, 0x100, 10, 2);
  }
  const CopyOnWriteAttribution result = copies.Finish();
  ASSERT_EQ(result.sites.size(), 2u);
  EXPECT_EQ(result.sites[0].bytes, 2 * 0x1000 * 0.75);
  EXPECT_EQ(result.sites[1].bytes, 2 * 0x1000 * 0.25);
  EXPECT_EQ(result.without_block, 0);
}

}  // namespace
}  // namespace plateau::series
