#include "analyzer/replay/mapping_matcher.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace plateau::replay {
namespace {

const Mapping kFirst{1, 0, 0, true, false, {}};
const Mapping kSecond{2, 5, 0, true, false, {}};

uint64_t Bytes(const std::vector<MappingPiece>& pieces) {
  uint64_t bytes = 0;
  for (const MappingPiece& piece : pieces) bytes += piece.bytes();
  return bytes;
}

int Count(const std::vector<MappingPiece>& pieces) {
  int count = 0;
  for (const MappingPiece& piece : pieces) count += piece.mapping.is_first;
  return count;
}

TEST(MappingTableTest, UnmapOfTheMiddleKeepsBothEndsAndOneCount) {
  MappingTable table;
  table.Map(0x1000, 0x9000, kFirst);
  const auto middle = table.Unmap(0x3000, 0x5000);
  EXPECT_EQ(Bytes(middle), 0x2000u);
  EXPECT_EQ(Count(middle), 0);
  const auto rest = table.Unmap(0, 0x10000);
  EXPECT_EQ(rest.size(), 2u);
  EXPECT_EQ(Bytes(rest), 0x6000u);
  EXPECT_EQ(Count(rest), 1);
}

TEST(MappingTableTest, UnmapOfTheFrontPassesTheCountOn) {
  MappingTable table;
  table.Map(0x1000, 0x3000, kFirst);
  EXPECT_EQ(Count(table.Unmap(0x1000, 0x2000)), 0);
  EXPECT_EQ(Count(table.Unmap(0x2000, 0x3000)), 1);
}

TEST(MappingTableTest, MappingOverALiveRangeEndsWhatItCovers) {
  MappingTable table;
  table.Map(0x1000, 0x5000, kFirst);
  const auto ended = table.Map(0x2000, 0x3000, kSecond);
  EXPECT_EQ(Bytes(ended), 0x1000u);
  EXPECT_EQ(ended[0].mapping.stack, 1u);
  const auto rest = table.Unmap(0, 0x10000);
  ASSERT_EQ(rest.size(), 3u);
  EXPECT_EQ(rest[1].mapping.stack, 2u);
  EXPECT_EQ(Count(rest), 2);
}

TEST(MappingTableTest, WhatIsInMemoryStaysWithThePartThatStays) {
  MappingTable table;
  Mapping followed{1, 0, 0, true, /*is_followed=*/true, {{0, 0x1000}, {3, 0x2000}}};
  table.Map(0x10000, 0x20000, followed);
  const auto front = table.Unmap(0x10000, 0x11000);
  ASSERT_EQ(front.size(), 1u);
  EXPECT_EQ(front[0].size(), 0x1000u);
  EXPECT_EQ(front[0].bytes(), 0u);
  const auto most = table.Unmap(0x12000, 0x20000);  // one page stays, and it was touched first
  ASSERT_EQ(most.size(), 1u);
  EXPECT_EQ(most[0].bytes(), 0x2000u);
  ASSERT_EQ(most[0].mapping.arrivals.size(), 1u);
  EXPECT_EQ(most[0].mapping.arrivals[0].birth, 3u);
  const auto last = table.Unmap(0, 0x100000);
  EXPECT_EQ(Bytes(last), 0x1000u);
  EXPECT_EQ(Count(last), 1);
}

TEST(MappingTableTest, AgreesWithAPageMapUnderRandomCalls) {
  MappingTable table;
  std::map<uint64_t, uint32_t> pages;  // page -> stack
  std::mt19937 random(3);
  for (uint32_t i = 1; i < 20000; ++i) {
    const uint64_t begin = random() % 200, end = begin + random() % 20;
    const bool is_map = random() % 2;
    const auto ended = is_map ? table.Map(begin, end, {i, 0, 0, true}) : table.Unmap(begin, end);
    std::map<uint32_t, uint64_t> expected, got;
    for (uint64_t page = begin; page < end; ++page) {
      if (pages.count(page)) ++expected[pages[page]];
      if (is_map) {
        pages[page] = i;
      } else {
        pages.erase(page);
      }
    }
    for (const MappingPiece& piece : ended) got[piece.mapping.stack] += piece.bytes();
    ASSERT_EQ(got, expected) << "call " << i;
  }
}

}  // namespace
}  // namespace plateau::replay
