#include "analyzer/replay/definitions/spread_residency.h"

#include <gtest/gtest.h>

namespace plateau::replay {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TimedResidency Reading(uint64_t tsc, uint64_t resident, uint64_t address = 0x10000) {
  return {tsc, {trace::RegionKind::kMap, address, 64 * kMiB, resident, 7}};
}

std::vector<TimedLedger> SamplesAt(std::initializer_list<uint64_t> times) {
  std::vector<TimedLedger> samples;
  for (const uint64_t tsc : times) samples.push_back({tsc, {}});
  return samples;
}

TEST(SpreadResidencyTest, WhatCameBetweenTwoLooksCameEvenly) {
  const auto all = SpreadResidency({Reading(1001, kMiB), Reading(2001, 5 * kMiB)}, SamplesAt({1000, 2000}));
  ASSERT_EQ(all.size(), 17u);
  EXPECT_EQ(all[0].tsc, 1001u);
  EXPECT_EQ(all[8].tsc, 1001u + 8 * 62);
  EXPECT_EQ(all[8].region.resident_bytes, 3 * kMiB);
  EXPECT_EQ(all.back().tsc, 2001u);
  EXPECT_EQ(all.back().region.resident_bytes, 5 * kMiB);
}

// Nothing was written for a long time because nothing had moved.
TEST(SpreadResidencyTest, AJumpAfterASilenceIsSpreadSinceTheLastSampleOnly) {
  const auto all = SpreadResidency({Reading(1001, kMiB), Reading(9001, 5 * kMiB)},
                                   SamplesAt({1000, 2000, 7000, 8000, 9000}));
  ASSERT_EQ(all.size(), 17u);
  EXPECT_GT(all[1].tsc, 8000u);
}

TEST(SpreadResidencyTest, WhatShrinksOrGrowsALittleStaysAsItIs) {
  EXPECT_EQ(SpreadResidency({Reading(1001, 5 * kMiB), Reading(2001, kMiB)}, SamplesAt({1000, 2000})).size(),
            2u);
  EXPECT_EQ(
      SpreadResidency({Reading(1001, kMiB), Reading(2001, kMiB + 70000)}, SamplesAt({1000, 2000})).size(),
      2u);
}

TEST(SpreadResidencyTest, RegionsAreToldApartAndAllStaysInOrder) {
  const auto all = SpreadResidency({Reading(1001, kMiB, 1), Reading(1002, 8 * kMiB, 2),
                                    Reading(2001, 3 * kMiB, 1), Reading(2002, 9 * kMiB, 2)},
                                   SamplesAt({1000, 2000}));
  EXPECT_EQ(all.size(), 4u + 15 + 15);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i].tsc, all[i - 1].tsc);
}

TEST(SpreadResidencyTest, WithoutALedgerNothingIsSpread) {
  EXPECT_EQ(SpreadResidency({Reading(1001, kMiB), Reading(2001, 5 * kMiB)}, {}).size(), 2u);
}

}  // namespace
}  // namespace plateau::replay
