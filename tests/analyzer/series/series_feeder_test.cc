// Series made from the sums that the replay tells are those of the changes one by one.
#include "analyzer/series/series_feeder.h"

#include <gtest/gtest.h>

#include "analyzer/replay/definitions/definitions.h"
#include "tests/analyzer/replay/random_run.h"
#include "tests/analyzer/replay/replayed.h"
#include "tests/support/trace_text.h"

namespace plateau::report {
namespace {

using series::SeriesAccumulator;
using series::SiteSeries;
using series::SiteTraits;

void ReplayInto(const std::string& text, const std::vector<uint64_t>& bucket_ends,
                SeriesAccumulator* series) {
  const std::string path =
      testing::WriteTemporary("feeder.plt", testing::TraceFromText(replay::kNodes + text));
  const auto reader = reader::TraceReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto definitions = replay::CollectDefinitions(**reader);
  series::TensorSeries tensors;
  series::SeriesFeeder feeder(series, &tensors);
  replay::ReplayOptions options;
  options.bucket_ends = bucket_ends;
  options.observer = &feeder;
  options.site_of = replay::SiteOf;
  replay::ReplayHeap(**reader, *definitions, options);
}

// Site 1 after three buckets.
SiteSeries SiteAfter(const std::string& text, const std::vector<uint64_t>& bucket_ends) {
  SeriesAccumulator series;
  ReplayInto(text, bucket_ends, &series);
  series.Finish(2);
  SiteSeries site;
  series.Load(1, &site);
  return site;
}

void ExpectNear(const std::vector<double>& a, const std::vector<double>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-6 * (1 + std::abs(b[i]))) << what << " " << i;
}

void ExpectSame(const SeriesAccumulator& series, const SeriesAccumulator& expected) {
  ASSERT_EQ(series.site_count(), expected.site_count());
  for (size_t site = 0; site < expected.site_count(); ++site) {
    SiteSeries a, b;
    series.Load(site, &a);
    expected.Load(site, &b);
    ExpectNear(a.alloc_bytes, b.alloc_bytes, "alloc_bytes");
    ExpectNear(a.alloc_count, b.alloc_count, "alloc_count");
    ExpectNear(a.free_bytes, b.free_bytes, "free_bytes");
    ExpectNear(a.free_count, b.free_count, "free_count");
    ExpectNear(a.surv_bytes, b.surv_bytes, "surv_bytes");
    ExpectNear(a.surv_count, b.surv_count, "surv_count");
    ExpectNear(a.surv_records, b.surv_records, "surv_records");
    ExpectNear(a.surv_variance, b.surv_variance, "surv_variance");
    ExpectNear({a.death_bytes.begin(), a.death_bytes.end()}, {b.death_bytes.begin(), b.death_bytes.end()},
               "death_bytes");
    EXPECT_NEAR(a.object_bytes, b.object_bytes, 1e-6 * (1 + b.object_bytes));
    const SiteTraits x = series.Traits(site), y = expected.Traits(site);
    EXPECT_NEAR(x.peak_bytes, y.peak_bytes, 1e-6 * (1 + y.peak_bytes));
    EXPECT_NEAR(x.temporary_bytes, y.temporary_bytes, 1e-6 * (1 + y.temporary_bytes));
    EXPECT_EQ(x.distinct_sizes, y.distinct_sizes);
    EXPECT_NEAR(x.new_size_share, y.new_size_share, 1e-9);
    EXPECT_NEAR(x.power_of_two_share, y.power_of_two_share, 1e-9);
    EXPECT_NEAR(x.eviction_share, y.eviction_share, 1e-9);
    EXPECT_NEAR(x.burst_free_share, y.burst_free_share, 1e-9);
  }
}

void ExpectAsOneByOne(const replay::RandomRun& run) {
  SeriesAccumulator series, expected;
  ReplayInto(run.text, run.bucket_ends, &series);
  for (const replay::RandomRun::Event& e : run.events) {
    const double bytes = static_cast<double>(e.bytes);
    if (e.is_birth) {
      expected.OnAlloc(e.site, bytes, e.weight, e.bucket);
    } else {
      expected.OnFree(e.site, e.birth, bytes, e.weight, e.bucket);
    }
  }
  const auto last = static_cast<int64_t>(run.bucket_ends.size());
  series.Finish(last);
  expected.Finish(last);
  ExpectSame(series, expected);
}

TEST(SeriesFeederTest, ExactRunsAreAsOneByOne) {
  for (uint32_t seed = 1; seed <= 20; ++seed) ExpectAsOneByOne(replay::RandomRun(seed, 3000, INT32_MAX));
}

TEST(SeriesFeederTest, RunsThatBecomeSampledAreAsOneByOne) {
  for (uint32_t seed = 1; seed <= 20; ++seed) ExpectAsOneByOne(replay::RandomRun(seed, 3000, 1234));
}

// A run of deaths that waits to be told must not be counted as dead already when sampling begins, and then
// again.
TEST(SeriesFeederTest, WhatDiesAfterSamplingBeganIsCountedOnce) {
  const SiteSeries site = SiteAfter(R"(
header mode=exact python_sample=0
@10 alloc address=0x10000 bytes=20000 stack=1
@11 alloc address=0x20000 bytes=20000 stack=1
@12 alloc address=0x30000 bytes=20000 stack=1
@20 alloc address=0x40000 bytes=20000 stack=1
@21 alloc address=0x50000 bytes=20000 stack=1
@25 rate mode=default exact_from=16384 sample=100000
@30 alloc address=0x60000 bytes=100 stack=1
@31 free address=0x10000
@32 free address=0x40000
)",
                                    {15, 28});
  EXPECT_EQ(site.surv_records, (std::vector<double>{2, 1, 1}));
}

// Totals of folded events end the youngest bytes: of what is left when they come.
TEST(SeriesFeederTest, FoldedTotalsComeAfterWhatWasRecordedBefore) {
  const SiteSeries site = SiteAfter(R"(
header mode=exact python_sample=0
@10 alloc address=0x10000 bytes=100 stack=1
@11 alloc address=0x20000 bytes=1 stack=1
@20 alloc address=0x30000 bytes=100 stack=1
@30 free address=0x30000
@31 free address=0x20000
@32 rate mode=folded
@33 fold_totals stack=1 allocs_256=0 alloc_bytes=0 frees_256=256 free_bytes=50
)",
                                    {15, 25});
  EXPECT_EQ(site.surv_bytes, (std::vector<double>{50, 0, 0}));
}

}  // namespace
}  // namespace plateau::report
