#include "analyzer/series/series_accumulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

namespace plateau::series {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;

SiteSeries LoadSite(const SeriesAccumulator& series, size_t site) {
  SiteSeries out;
  series.Load(site, &out);
  return out;
}

double Sum(const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

TEST(SeriesAccumulatorTest, SurvivorsAreKeptByBirthStep) {
  SeriesAccumulator series;
  series.OnAlloc(0, 100, 1, 0);
  series.OnAlloc(0, 10, 1, 1);
  series.OnAlloc(0, 20, 1, 2);
  series.OnFree(0, 1, 10, 1, 3);
  series.Finish(3);
  const SiteSeries site = LoadSite(series, 0);
  EXPECT_THAT(site.alloc_bytes, ElementsAre(100, 10, 20, 0));
  EXPECT_THAT(site.free_bytes, ElementsAre(0, 0, 0, 10));
  EXPECT_THAT(site.surv_bytes, ElementsAre(100, 0, 20, 0));
  EXPECT_THAT(site.surv_count, ElementsAre(1, 0, 1, 0));
  EXPECT_EQ(site.death_bytes[AgeBucket(2)], 10);
}

TEST(SeriesAccumulatorTest, WhatDiesInItsStepIsTemporary) {
  SeriesAccumulator series;
  series.OnAlloc(0, 1000, 1, 1);
  series.OnFree(0, 1, 1000, 1, 1);
  series.OnAlloc(0, 1, 1, 2);
  series.Finish(2);
  EXPECT_EQ(series.Traits(0).temporary_bytes, 1000);
  EXPECT_EQ(series.Traits(0).peak_bytes, 1000);
}

TEST(SeriesAccumulatorTest, TotalsKeepWhatTheyHaveMoreOfBornThanDead) {
  SeriesAccumulator series;
  series.OnTotals(
      0, {.alloc_bytes = 1000, .alloc_count = 10, .free_bytes = 400, .free_count = 4, .weight = 2}, 1);
  series.OnTotals(0, {.alloc_bytes = 50, .alloc_count = 0.5, .free_bytes = 0, .free_count = 0, .weight = 2},
                  2);
  series.Finish(2);
  const SiteSeries site = LoadSite(series, 0);
  EXPECT_THAT(site.alloc_bytes, ElementsAre(0, 1000, 50));
  EXPECT_THAT(site.surv_bytes, ElementsAre(0, 600, 50));
  EXPECT_THAT(site.surv_count, ElementsAre(0, 6, 0.5));
  EXPECT_THAT(site.surv_records, ElementsAre(0, 3, 0.25));
  // Of 3 records that stand for 2 each: 3 times 100^2 * 2 * (2 - 1).
  EXPECT_THAT(site.surv_variance, ElementsAre(0, 60000, 5000));
  EXPECT_EQ(site.death_bytes[AgeBucket(0)], 400);
}

TEST(SeriesAccumulatorTest, TotalsWithMoreDeadThanBornEndTheYoungest) {
  SeriesAccumulator series;
  for (int64_t step = 1; step <= 4; ++step) {
    series.OnTotals(0, {.alloc_bytes = 100, .alloc_count = 1, .free_bytes = 0, .free_count = 0, .weight = 1},
                    step);
  }
  // Up and down again is no growth.
  series.OnTotals(0, {.alloc_bytes = 50, .alloc_count = 1, .free_bytes = 300, .free_count = 3, .weight = 1},
                  5);
  series.Finish(5);
  const SiteSeries site = LoadSite(series, 0);
  EXPECT_THAT(site.surv_bytes, ElementsAre(0, 100, 50, 0, 0, 0));
  EXPECT_EQ(Sum(site.surv_bytes), Sum(site.alloc_bytes) - Sum(site.free_bytes));
  EXPECT_EQ(site.death_bytes[AgeBucket(1)], 100);
}

TEST(SeriesAccumulatorTest, GrowthByReallocKeepsTheOldBirth) {
  SeriesAccumulator series;
  series.OnAlloc(0, 100, 1, 1);
  series.OnGrow(0, 50, 1, 4);
  series.Finish(5);
  const SiteSeries grown = LoadSite(series, 0);
  EXPECT_THAT(grown.surv_bytes, ElementsAre(0, 100, 0, 0, 50, 0));
  EXPECT_EQ(Sum(grown.surv_count), 1) << "one object";

  SeriesAccumulator freed;
  freed.OnAlloc(0, 100, 1, 1);
  freed.OnGrow(0, 50, 1, 4);
  freed.OnFree(0, 1, 100, 1, 5);
  freed.OnFree(0, 4, 50, 1, 5, /*is_object=*/false);
  freed.Finish(5);
  EXPECT_THAT(LoadSite(freed, 0).surv_bytes, Each(0));
  EXPECT_EQ(Sum(LoadSite(freed, 0).surv_count), 0);
}

TEST(SeriesAccumulatorTest, LongRunsAreCoarsenedWithoutLosingBytes) {
  SeriesAccumulator series({.max_buckets = 64});
  const int64_t steps = 1000;
  for (int64_t step = 1; step <= steps; ++step) {
    series.OnAlloc(0, 7, 1, step);
    series.OnAlloc(1, 3, 1, step);
    if (step > 8) series.OnFree(1, step - 8, 3, 1, step);
  }
  series.Finish(steps);
  EXPECT_EQ(series.bucket_steps(), 16);
  EXPECT_EQ(series.buckets(), 63);
  const SiteSeries kept = LoadSite(series, 0);
  EXPECT_EQ(Sum(kept.surv_bytes), 7.0 * steps);
  EXPECT_EQ(kept.surv_bytes[1], 7.0 * 16);
  EXPECT_EQ(kept.surv_bytes[63], 7.0 * (1000 - 62 * 16)) << "the last bucket is partial";
  const SiteSeries churn = LoadSite(series, 1);
  EXPECT_EQ(Sum(churn.surv_bytes), 3.0 * 8);
  EXPECT_EQ(Sum(churn.free_bytes), 3.0 * (steps - 8));
  // An age of 8 steps is half a bucket of 16: about half of the deaths cross into the next bucket.
  const double deaths = std::accumulate(churn.death_bytes.begin(), churn.death_bytes.end(), 0.0);
  EXPECT_THAT(deaths, DoubleNear(3.0 * (steps - 8), 1e-6));
  EXPECT_GT(churn.death_bytes[1], 0.3 * deaths);
}

// Sites that are idle for long, objects that die long after, and buckets that are merged meanwhile.
TEST(SeriesAccumulatorTest, EveryBucketHasWhatHappenedInIt) {
  struct Block {
    int64_t birth;
    double bytes;
  };
  std::mt19937 random(7);
  for (const int64_t max_buckets : {1024, 64, 16}) {
    SeriesAccumulator series({.max_buckets = max_buckets});
    std::vector<double> born(901), freed(901), survived(901);
    std::vector<Block> blocks;
    for (int64_t step = 0; step <= 900; step += 1 + static_cast<int64_t>(random() % 60 == 0 ? 50 : 0)) {
      if (random() % 3 != 0) continue;
      for (unsigned n = random() % 4; n > 0; --n) {
        blocks.push_back({step, 1.0 + random() % 1000});
        series.OnAlloc(0, blocks.back().bytes, 1, step);
        born[step] += blocks.back().bytes;
      }
      for (unsigned n = random() % 4; n > 0 && !blocks.empty(); --n) {
        const size_t which = random() % blocks.size();
        series.OnFree(0, blocks[which].birth, blocks[which].bytes, 1, step);
        freed[step] += blocks[which].bytes;
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    for (const Block& block : blocks) survived[block.birth] += block.bytes;
    series.Finish(900);
    const SiteSeries site = LoadSite(series, 0);
    SiteSeries expected(static_cast<size_t>(series.buckets()));
    for (int64_t step = 0; step <= 900; ++step) {
      const int64_t bucket = BucketOfStep(step, series.bucket_steps());
      expected.alloc_bytes[bucket] += born[step];
      expected.free_bytes[bucket] += freed[step];
      expected.surv_bytes[bucket] += survived[step];
    }
    EXPECT_EQ(site.alloc_bytes, expected.alloc_bytes) << max_buckets;
    EXPECT_EQ(site.free_bytes, expected.free_bytes) << max_buckets;
    EXPECT_EQ(site.surv_bytes, expected.surv_bytes) << max_buckets;
  }
}

// What is folded comes late, so a bucket may begin before one that is there already.
TEST(SeriesAccumulatorTest, TotalsOfEarlierStepsFindTheirBucket) {
  SeriesAccumulator series;
  for (const int64_t step : {5, 2, 9, 3, 2}) {
    series.OnTotals(0, {.alloc_bytes = 10.0 * static_cast<double>(step), .alloc_count = 1, .weight = 1},
                    step);
  }
  series.Finish(9);
  EXPECT_THAT(LoadSite(series, 0).surv_bytes, ElementsAre(0, 0, 40, 30, 0, 50, 0, 0, 0, 90));
}

TEST(SeriesAccumulatorTest, ManySitesStayWithinTheBudget) {
  SeriesAccumulator series({.max_buckets = 1024, .max_bytes = 4 << 20});
  for (int64_t step = 1; step <= 1000; ++step) {
    for (uint32_t site = 0; site < 500; ++site) series.OnAlloc(site, 16, 1, step);
  }
  series.Finish(1000);
  EXPECT_LE(series.memory_bytes(), (4u << 20) + 500 * 1024);
  EXPECT_GT(series.bucket_steps(), 1);
  double total = 0;
  for (size_t site = 0; site < series.site_count(); ++site) total += Sum(LoadSite(series, site).surv_bytes);
  EXPECT_EQ(total, 16.0 * 500 * 1000);
}

TEST(SeriesAccumulatorTest, SampledBytesCarryTheirVariance) {
  SeriesAccumulator series;
  series.OnAlloc(0, 1000, 4, 1);
  series.OnAlloc(0, 1000, 1, 2);
  series.OnAlloc(0, 500, 8, 3);
  series.OnFree(0, 3, 500, 8, 4);
  series.Finish(4);
  const SiteSeries site = LoadSite(series, 0);
  EXPECT_THAT(site.surv_bytes, ElementsAre(0, 4000, 1000, 0, 0));
  EXPECT_THAT(site.surv_variance, ElementsAre(0, 1000.0 * 1000 * 4 * 3, 0, 0, 0));
}

TEST(SeriesAccumulatorTest, CountsStayExactBeyondWhatAFloatHolds) {
  constexpr double kMany = 1 << 24;
  SeriesAccumulator series;
  series.OnAlloc(0, 16, kMany, 1);
  series.OnAlloc(0, 16, 1, 1);
  series.OnFree(0, 1, 16, kMany, 1);
  series.OnFree(0, 1, 16, 1, 1);
  series.OnAlloc(0, 16, kMany, 1);
  series.OnAlloc(0, 16, 1, 1);
  series.Finish(1);
  SiteSeries s;
  series.Load(0, &s);
  EXPECT_EQ(s.alloc_count[1], 2 * kMany + 2);
  EXPECT_EQ(s.free_count[1], kMany + 1);
  EXPECT_EQ(s.surv_count[1], kMany + 1);
  EXPECT_EQ(s.surv_records[1], 2);
}

TEST(SeriesAccumulatorTest, TraitsTellSizesAndEvictions) {
  SeriesAccumulator series;
  for (int64_t step = 1; step <= 100; ++step) {
    series.OnAlloc(0, 4096, 1, step);                // always the same size, never freed
    series.OnAlloc(1, 1000 + 16.0 * step, 1, step);  // a new size every time
    series.OnAlloc(2, 512, 1, step);                 // a cache of ten
    if (step > 10) series.OnFree(2, step - 10, 512, 1, step);
  }
  series.Finish(100);
  const SiteTraits same = series.Traits(0);
  EXPECT_NEAR(same.distinct_sizes, 1, 0.1);
  EXPECT_EQ(same.power_of_two_share, 1);
  EXPECT_LT(same.new_size_share, 0.05);
  EXPECT_EQ(same.eviction_share, 0);
  const SiteTraits fresh = series.Traits(1);
  EXPECT_NEAR(fresh.distinct_sizes, 100, 20);
  EXPECT_GT(fresh.new_size_share, 0.7);
  const SiteTraits cache = series.Traits(2);
  EXPECT_GT(cache.eviction_share, 0.95);
  EXPECT_EQ(cache.peak_bytes, 512 * 11) << "allocated before the old one is freed";
}

TEST(SeriesAccumulatorTest, PhasesOfSurvivorsAreShares) {
  SeriesAccumulator series;
  series.OnAlloc(0, 100, 1, 1);
  series.OnSurvivor(0, BirthPhase::kOptimizer, 75);
  series.OnSurvivor(0, BirthPhase::kForward, 25);
  series.Finish(1);
  EXPECT_EQ(series.Traits(0).PhaseShare(BirthPhase::kOptimizer), 0.75);
}

}  // namespace
}  // namespace plateau::series
