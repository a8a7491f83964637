#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "preload/sampler/sample_set.h"

namespace plateau {
namespace {

// The set is a large object with page-aligned parts; tests share the process's one.
class SampleSetLoadTest : public testing::Test {
 protected:
  SampleSetLoadTest() { set_.Clear(); }
  ~SampleSetLoadTest() override { set_.Clear(); }
  SampleSet& set_ = g_sample_set;
};

SampledBlock BlockOf(uint64_t bytes) { return {bytes, 0, 0}; }

uintptr_t HeapAddress(uint64_t i) { return 0x5555'5000'0000 + i * 48; }

TEST_F(SampleSetLoadTest, UnknownAndDoubleFreesAreNotMatched) {
  SampledBlock block;
  set_.Insert(0x3000, BlockOf(1));
  EXPECT_TRUE(set_.Erase(0x3000, &block));
  EXPECT_FALSE(set_.Erase(0x3000, &block));
  set_.Insert(0x1000, BlockOf(1));
  EXPECT_FALSE(set_.Erase(0x1010, &block));
  EXPECT_FALSE(set_.Erase(0, &block));
  EXPECT_EQ(set_.size(), 1u);
}

TEST_F(SampleSetLoadTest, MillionLiveSamplesLoseNoFree) {
  constexpr uint64_t kMembers = 1'000'000;
  for (uint64_t i = 0; i < kMembers; ++i) ASSERT_TRUE(set_.Insert(HeapAddress(i), BlockOf(i + 1)));
  EXPECT_EQ(set_.size(), kMembers);
  std::vector<uint64_t> order(kMembers);
  for (uint64_t i = 0; i < kMembers; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  for (const uint64_t i : order) {
    SampledBlock block;
    ASSERT_TRUE(set_.MayContain(HeapAddress(i)));
    ASSERT_TRUE(set_.Erase(HeapAddress(i), &block));
    ASSERT_EQ(block.bytes, i + 1);
  }
  EXPECT_EQ(set_.size(), 0u);
  uint64_t stuck = 0;
  for (uint64_t i = 0; i < kMembers; ++i) stuck += set_.MayContain(HeapAddress(i)) ? 1 : 0;
  EXPECT_EQ(stuck, 0u);  // four to a counter: none reached its end
}

TEST_F(SampleSetLoadTest, FilterIsSelective) {
  for (uint64_t i = 0; i < 1000; ++i) set_.Insert(HeapAddress(i * 977), BlockOf(1));
  uint64_t positive = 0;
  constexpr uint64_t kOthers = 1'000'000;
  for (uint64_t i = 0; i < kOthers; ++i) positive += set_.MayContain(HeapAddress(5'000'000 + i)) ? 1 : 0;
  EXPECT_LT(positive, kOthers / 100);  // 1000 of 2^18 counters are in use
}

TEST_F(SampleSetLoadTest, NeighboursOfAMemberAreNotAsked) {
  constexpr uintptr_t kPage = 0x7f12'3456'7000;
  set_.Insert(kPage + 0x400, BlockOf(1));
  set_.Insert(kPage + 0x800, BlockOf(1));
  for (uintptr_t offset = 0; offset < 0x1000; offset += 16) {
    EXPECT_EQ(set_.MayContain(kPage + offset), offset == 0x400 || offset == 0x800) << offset;
  }
  SampledBlock block;
  EXPECT_TRUE(set_.Erase(kPage + 0x400, &block));
  EXPECT_FALSE(set_.MayContain(kPage + 0x400));
  EXPECT_TRUE(set_.MayContain(kPage + 0x800));
}

}  // namespace
}  // namespace plateau
