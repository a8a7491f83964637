#include "analyzer/series/heap_pins.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace plateau::series {
namespace {

constexpr uint64_t kHeap = 0x5555'0000'0000;
constexpr uint64_t kPage = 4096;

struct Block {
  uint64_t address;
  uint64_t bytes;
  uint32_t site;
  double weight = 1;
};

HeapHoles HolesOf(const std::vector<Block>& blocks, const HeapPins::Options& options = {}) {
  HeapPins pins(options);
  for (const Block& b : blocks) pins.AddUse(b.address, b.bytes, b.weight);
  pins.EndUses();
  for (const Block& b : blocks) pins.AddPin(b.address, b.bytes, b.weight, b.site);
  return pins.Finish();
}

std::map<uint32_t, double> BytesBySite(const HeapHoles& holes) {
  std::map<uint32_t, double> bytes;
  for (const PinningSite& site : holes.sites) bytes[site.site] = site.hole_bytes;
  return bytes;
}

TEST(HeapPinsTest, AFreePageBelongsToTheNextBlockAbove) {
  // A page with site 1, two empty ones, a page that sites 2 and 3 share.
  const HeapHoles holes =
      HolesOf({{kHeap, 24, 1}, {kHeap + 3 * kPage, 24, 2}, {kHeap + 3 * kPage + 2000, 24, 3}});
  const auto bytes = BytesBySite(holes);
  EXPECT_EQ(bytes.at(1), kPage - 32);
  EXPECT_EQ(bytes.at(2), (2 * kPage + kPage - 64) / 2);
  EXPECT_EQ(bytes.at(3), bytes.at(2));
  EXPECT_EQ(holes.empty_page_bytes, 2 * kPage);
  EXPECT_TRUE(holes.is_exact);
}

TEST(HeapPinsTest, SharesAddUpToTheHolesWhateverTheOrder) {
  std::mt19937 random(7);
  std::vector<Block> blocks;
  std::map<uint64_t, bool> taken;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t place = random() % 400000;
    if (taken[place]) continue;
    taken[place] = true;
    blocks.push_back({kHeap + 64 * place, 1 + random() % 56, static_cast<uint32_t>(random() % 5)});
  }
  const HeapHoles holes = HolesOf(blocks);
  double sum = 0;
  for (const PinningSite& site : holes.sites) {
    sum += site.hole_bytes;
    EXPECT_EQ(site.hole_interval.low, site.hole_bytes);
  }
  EXPECT_NEAR(sum, holes.hole_bytes, 1e-4 * sum);
  std::shuffle(blocks.begin(), blocks.end(), random);
  const HeapHoles again = HolesOf(blocks);
  EXPECT_NEAR(again.sites[0].hole_bytes, holes.sites[0].hole_bytes, 1e-4 * sum);
}

TEST(HeapPinsTest, AHeapWithoutHolesIsHeldByNobody) {
  std::vector<Block> blocks;
  for (uint64_t i = 0; i < 1024; ++i) blocks.push_back({kHeap + 64 * i, 56, 1});
  EXPECT_EQ(HolesOf(blocks).hole_bytes, 0);
}

TEST(HeapPinsTest, WhatLiesBetweenTwoArenasIsNoHole) {
  constexpr uint64_t kThread = 0x7f00'0000'0000;
  const HeapHoles holes =
      HolesOf({{kHeap, 24, 1}, {kThread + 0x30, 24, 2}, {kThread + (64 << 20) + 0x30, 24, 3}});
  EXPECT_EQ(holes.hole_bytes, 3 * (kPage - 32));
  EXPECT_EQ(holes.empty_page_bytes, 0);
}

TEST(HeapPinsTest, ABlockWithAMapOfItsOwnPinsNothing) {
  const HeapHoles holes = HolesOf({{0x7f00'0000'0010, 10 << 20, 1}, {kHeap + 16, 200000, 2}});
  EXPECT_EQ(BytesBySite(holes).count(1), 0u);
  EXPECT_EQ(BytesBySite(holes).count(2), 1u) << "in the heap of the break";
}

TEST(HeapPinsTest, ABlockOverSeveralPagesHoldsWhatIsFreeAtItsEdges) {
  const HeapHoles holes = HolesOf({{kHeap + 2048, 3 * kPage, 1}});
  EXPECT_EQ(holes.hole_bytes, 2048) << "what is free above its end can be returned";
  EXPECT_EQ(holes.sites[0].block_count, 1);
}

// One block of 48 bytes in each 8 KiB, and dense start-up data of another site below: a twentieth is recorded.
TEST(HeapPinsTest, ASampleNamesTheSiteThatPinsWithAnIntervalAroundTheTruth) {
  std::vector<Block> all;
  for (uint64_t i = 0; i < 200'000; ++i) all.push_back({kHeap + 64 * i, 48, 1});
  const uint64_t sparse = kHeap + 64 * 200'000;
  for (uint64_t i = 0; i < 12'000; ++i) all.push_back({sparse + 8192 * i, 48, 2});
  const HeapHoles truth = HolesOf(all);
  const double held = BytesBySite(truth).at(2);
  EXPECT_NEAR(held, 12'000.0 * (8192 - 64), 0.01 * held);

  std::mt19937 random(11);
  int inside = 0;
  for (int run = 0; run < 20; ++run) {
    std::vector<Block> sample;
    for (const Block& b : all) {
      if (random() % 20 == 0) sample.push_back({b.address, b.bytes, b.site, 20});
    }
    HeapHoles holes = HolesOf(sample, {.page_bytes = HeapPins::kSampledPageBytes});
    holes.ScaleTo(truth.hole_bytes);
    EXPECT_FALSE(holes.is_exact);
    ASSERT_EQ(holes.sites[0].site, 2u);
    EXPECT_NEAR(holes.sites[0].hole_bytes, held, 0.2 * held);
    EXPECT_NEAR(holes.sites[0].block_count, 12'000, 3000);
    inside += holes.sites[0].hole_interval.low <= held && held <= holes.sites[0].hole_interval.high;
  }
  EXPECT_GE(inside, 17);
}

TEST(HeapPinsTest, TooManyPagesMakeThemWider) {
  std::vector<Block> blocks;
  for (uint64_t i = 0; i < 1000; ++i) blocks.push_back({kHeap + kPage * i, 24, 1});
  const HeapHoles holes = HolesOf(blocks, {.page_bytes = kPage, .max_pages = 100});
  EXPECT_GE(holes.page_bytes, 8 * kPage);
  EXPECT_NEAR(holes.hole_bytes, 1000 * (kPage - 32), 50 * kPage);
}

}  // namespace
}  // namespace plateau::series
