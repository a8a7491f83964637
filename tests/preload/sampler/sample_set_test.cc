#include "preload/sampler/sample_set.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace plateau {
namespace {

class SampleSetTest : public ::testing::Test {
 protected:
  void SetUp() override { g_sample_set.Clear(); }
  void TearDown() override { g_sample_set.Clear(); }
};

constexpr uintptr_t Address(uint64_t i) { return 0x7f0000000000 + i * 48; }

TEST_F(SampleSetTest, MembersAreFoundAndForgotten) {
  SampledBlock sample = {};
  EXPECT_FALSE(g_sample_set.MayContain(Address(1)));
  ASSERT_TRUE(g_sample_set.Insert(Address(1), {10001, 7, 2}));
  EXPECT_TRUE(g_sample_set.MayContain(Address(1)));
  EXPECT_TRUE(g_sample_set.Contains(Address(1)));
  EXPECT_FALSE(g_sample_set.Contains(Address(2)));
  ASSERT_TRUE(g_sample_set.Erase(Address(1), &sample));
  EXPECT_EQ(sample.bytes, 10001u);
  EXPECT_EQ(sample.stack, 7u);
  EXPECT_EQ(sample.rate_level, 2u);
  EXPECT_FALSE(g_sample_set.Erase(Address(1), &sample));
  EXPECT_FALSE(g_sample_set.MayContain(Address(1)));
}

TEST_F(SampleSetTest, AnAddressThatComesBackIsOneMember) {
  ASSERT_TRUE(g_sample_set.Insert(Address(1), {10001, 7, 2}));
  ASSERT_TRUE(g_sample_set.Insert(Address(1), {10002, 7, 2}));
  EXPECT_EQ(g_sample_set.size(), 1u);
  SampledBlock sample = {};
  ASSERT_TRUE(g_sample_set.Erase(Address(1), &sample));
  EXPECT_EQ(sample.bytes, 10002u);
}

// A million live samples in 2^18 counters: counters overflow into "stays full", and no free is lost.
TEST_F(SampleSetTest, SaturatedFilterLosesNoFree) {
  constexpr uint64_t kMembers = 1'000'000;
  for (uint64_t i = 0; i < kMembers; ++i) ASSERT_TRUE(g_sample_set.Insert(Address(i), {i + 1, 7, 2}));
  EXPECT_EQ(g_sample_set.size(), kMembers);
  for (uint64_t i = 0; i < kMembers; ++i) {
    SampledBlock sample = {};
    ASSERT_TRUE(g_sample_set.MayContain(Address(i)));
    ASSERT_TRUE(g_sample_set.Erase(Address(i), &sample));
    ASSERT_EQ(sample.bytes, i + 1);
  }
  EXPECT_EQ(g_sample_set.size(), 0u);
}

TEST_F(SampleSetTest, ManyHandsOnOneCounterEndAtZeroOrFull) {
  // 400 addresses with the same filter bytes drive them to 255 and keep them there.
  g_sample_set.Insert(Address(0), {1, 7, 2});
  for (int i = 0; i < 400; ++i) g_sample_set.Watch(Address(0));
  for (int i = 0; i < 400; ++i) g_sample_set.Unwatch(Address(0));
  SampledBlock sample;
  EXPECT_TRUE(g_sample_set.MayContain(Address(0)));  // still a member, must still be asked about
  ASSERT_TRUE(g_sample_set.Erase(Address(0), &sample));
  EXPECT_TRUE(g_sample_set.MayContain(Address(0)));  // saturated: slower, never wrong
}

TEST_F(SampleSetTest, WatchedAddressesAreNoMembers) {
  g_sample_set.Watch(Address(5));
  EXPECT_TRUE(g_sample_set.MayContain(Address(5)));
  EXPECT_FALSE(g_sample_set.Contains(Address(5)));
  g_sample_set.Unwatch(Address(5));
  EXPECT_FALSE(g_sample_set.MayContain(Address(5)));
}

TEST_F(SampleSetTest, ThreadsDoNotDisturbEachOther) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      for (uint64_t round = 0; round < 20; ++round) {
        for (uint64_t i = 0; i < 2000; ++i) {
          if (!g_sample_set.Insert(Address(t * 1'000'000 + i), {t * 10 + 1, 7, 2})) ++wrong;
        }
        for (uint64_t i = 0; i < 2000; ++i) {
          SampledBlock sample = {};
          if (!g_sample_set.Erase(Address(t * 1'000'000 + i), &sample) || sample.bytes != t * 10 + 1) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(g_sample_set.size(), 0u);
}

}  // namespace
}  // namespace plateau
