#include "analyzer/process/row_digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <tuple>

#include "analyzer/process/process_memory.h"

namespace plateau::process {
namespace {

constexpr uint32_t kSites = 40;  // the first of them without a stack

struct Rows {
  ProcessTrace trace;
  ProcessSites sites;
  ProcessMemory memory;
};

// Rows with few different amounts, so that many are equal.
std::unique_ptr<Rows> MakeRows(size_t count) {
  auto made = std::make_unique<Rows>();
  replay::Definitions& definitions = made->trace.definitions;
  for (uint32_t node = 1; node < kSites; ++node) definitions.nodes.Define(node, 0, node);
  definitions.nodes.Resize(kSites);
  definitions.nodes.MergeEqual();
  replay::SiteTableOptions options;
  options.rule = replay::SiteRule::kStack;
  made->sites.table = std::make_unique<replay::SiteTable>(&definitions, std::move(options));
  for (uint32_t node = 0; node < kSites; ++node) made->sites.table->SiteOf(replay::Pool::kHeap, node);
  ProcessMemory& memory = made->memory;
  memory.series = std::make_unique<series::SeriesAccumulator>();
  memory.tensors = std::make_unique<series::TensorSeries>();
  memory.device = std::make_unique<DeviceRows>(&definitions, made->sites.table.get(), memory.series.get(),
                                               memory.tensors.get(), 1);
  std::mt19937 random(5);
  std::vector<double> at_end;
  replay::StackRows& rows = memory.heap.stacks;
  for (size_t i = 0; i < count; ++i) {
    const auto site = static_cast<uint32_t>(random() % kSites);
    const uint32_t row = rows.Add(replay::Pool::kHeap, site, site);
    at_end.push_back(static_cast<double>(random() % 50) - 10);
    rows.Apply(row, {.live_bytes = static_cast<double>(random() % 3),
                     .alloc_bytes = static_cast<double>(random() % 1000),
                     .alloc_count = 1,
                     .free_count = static_cast<double>(random() % 2)});
  }
  rows.NotePeak();
  for (uint32_t row = 0; row < count; ++row) {
    rows.Apply(row, {.live_bytes = at_end[row] - rows.live_bytes(row)});
  }
  return made;
}

TEST(RowDigestTest, IsWhatAllRowsSay) {
  const auto made = MakeRows(20000);
  const RowDigest digest = DigestRows(made->memory, made->sites, 1);
  ASSERT_EQ(digest.sites.size(), kSites);
  for (uint32_t site = 0; site < kSites; ++site) {
    std::vector<uint32_t> rows, holders;
    RowAmounts sum;
    for (uint32_t i = 0; i < made->memory.row_count(); ++i) {
      if (made->memory.Row(i).site != site) continue;
      rows.push_back(i);
      if (site == 0) continue;
      if (made->memory.Row(i).live_bytes > 0) holders.push_back(i);
      sum.Add(RowAmounts(made->memory.Row(i)));
    }
    // The first of those that nothing is larger than.
    const auto largest = [&](const auto& weight) {
      return *std::max_element(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
        return weight(made->memory.Row(a)) < weight(made->memory.Row(b));
      });
    };
    EXPECT_EQ(digest.sites[site].typical, largest([](const replay::StackRow& row) {
                return std::tuple(row.live_bytes, row.peak_bytes, row.alloc_bytes);
              }));
    EXPECT_EQ(digest.sites[site].largest, largest([](const replay::StackRow& row) {
                return std::tuple(row.live_bytes + row.peak_bytes, row.alloc_bytes);
              }));
    std::stable_sort(holders.begin(), holders.end(), [&](uint32_t a, uint32_t b) {
      return made->memory.Row(a).live_bytes > made->memory.Row(b).live_bytes;
    });
    holders.resize(SiteRows::kHolders, SiteRows::kNone);
    EXPECT_TRUE(std::equal(holders.begin(), holders.end(), digest.sites[site].holders.begin()));
    EXPECT_EQ(digest.sites[site].sum.retained_bytes, sum.retained_bytes);
    EXPECT_EQ(digest.sites[site].sum.alloc_bytes, sum.alloc_bytes);
    EXPECT_EQ(digest.sites[site].sum.free_count, sum.free_count);
    if (site == 0) {
      EXPECT_EQ(digest.named_rows, rows);
    }
  }
}

TEST(RowDigestTest, DoesNotDependOnTheNumberOfThreads) {
  const auto made = MakeRows(400000);
  const RowDigest one = DigestRows(made->memory, made->sites, 1),
                  many = DigestRows(made->memory, made->sites, 5);
  for (uint32_t site = 0; site < kSites; ++site) {
    EXPECT_EQ(one.sites[site].typical, many.sites[site].typical);
    EXPECT_EQ(one.sites[site].largest, many.sites[site].largest);
    EXPECT_EQ(one.sites[site].holders, many.sites[site].holders);
    EXPECT_EQ(one.sites[site].sum.retained_bytes, many.sites[site].sum.retained_bytes);
    EXPECT_EQ(one.sites[site].summed_rows, many.sites[site].summed_rows);
  }
  EXPECT_EQ(one.named_rows, many.named_rows);
  EXPECT_EQ(one.has_pool, many.has_pool);
  EXPECT_EQ(one.retained_bytes, many.retained_bytes);
  EXPECT_EQ(one.heap_alloc_bytes, many.heap_alloc_bytes);
  EXPECT_EQ(one.heap_alloc_count, many.heap_alloc_count);
  EXPECT_EQ(one.heap_alloc_count, 400000);
}

}  // namespace
}  // namespace plateau::process
