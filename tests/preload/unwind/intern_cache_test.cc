#include "preload/unwind/intern_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace plateau::unwind {
namespace {

TEST(InternCacheTest, FindsWhatWasInserted) {
  auto cache = std::make_unique<InternCache>();
  ASSERT_TRUE(cache->Initialize(10));
  const uint64_t key = InternCache::Key(7, 9);
  EXPECT_EQ(cache->Find(key), 0u);
  cache->Insert(key, 42);
  EXPECT_EQ(cache->Find(key), 42u);
  EXPECT_EQ(cache->Find(InternCache::Key(9, 7)), 0u);
  cache->Clear();
  EXPECT_EQ(cache->Find(key), 0u);
}

TEST(InternCacheTest, GrowsWithWhatItHoldsAndForgetsNothingMeanwhile) {
  auto cache = std::make_unique<InternCache>();
  ASSERT_TRUE(cache->Initialize());
  const size_t first_bytes = cache->mapped_bytes();
  EXPECT_EQ(first_bytes, size_t{16} << InternCache::kFirstLog2Entries);
  constexpr uint32_t kPairs = 40'000;  // a sixth of what it grows to
  for (uint32_t i = 1; i <= kPairs; ++i) cache->Insert(InternCache::Key(i / 7, i), i);
  EXPECT_EQ(cache->mapped_bytes(), size_t{16} << InternCache::kDefaultLog2Entries);
  uint32_t lost = 0;
  for (uint32_t i = 1; i <= kPairs; ++i) {
    const uint32_t node = cache->Find(InternCache::Key(i / 7, i));
    EXPECT_TRUE(node == i || node == 0);
    lost += node == 0;
  }
  EXPECT_LT(lost, kPairs / 10);  // sets that were full by chance, while tables were half full
}

TEST(InternCacheTest, NotInitializedRemembersNothing) {
  auto cache = std::make_unique<InternCache>();
  cache->Insert(InternCache::Key(1, 1), 1);
  EXPECT_EQ(cache->Find(InternCache::Key(1, 1)), 0u);
}

// The share of look-ups of hot pairs that find nothing, between pairs that are met once.
double LostShare(uint32_t rounds_per_promotion) {
  auto cache = std::make_unique<InternCache>();
  EXPECT_TRUE(cache->Initialize(10));
  constexpr uint32_t kHot = 200;  // of 1024 entries
  constexpr uint32_t kRounds = 200;
  uint32_t next = 1;
  uint64_t lost = 0;
  for (uint32_t i = 1; i <= 1024; ++i)
    cache->Insert(InternCache::Key(2, i), next++);  // the first are not the hot ones
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (uint32_t i = 1; i <= kHot; ++i) {
      if (cache->Find(InternCache::Key(1, i), round % rounds_per_promotion == 0) == 0) {
        cache->Insert(InternCache::Key(1, i), next++);
        ++lost;
      }
    }
    for (uint32_t i = 0; i < 100; ++i) cache->Insert(InternCache::Key(1000 + round, 1 + i), next++);
  }
  return static_cast<double>(lost) / (kRounds * kHot);
}

TEST(InternCacheTest, HotPairsOutliveOneOffPairs) {
  EXPECT_LT(LostShare(1), 0.15);
  EXPECT_LT(LostShare(16), 0.2);    // as captures use it
  EXPECT_GT(LostShare(1000), 0.3);  // without promotion the first pairs stay, hot or not
}

// Values are a function of the key, so a torn or misplaced entry would show.
TEST(InternCacheTest, ThreadsNeverSeeAnothersValue) {
  auto cache = std::make_unique<InternCache>();
  ASSERT_TRUE(cache->Initialize(8));  // small, so that threads meet
  const auto value_of = [](uint32_t parent, uint32_t location) { return parent * 1000 + location; };
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> hits{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 300'000; ++i) {
        const auto parent = static_cast<uint32_t>(1 + random() % 20);
        const auto location = static_cast<uint32_t>(1 + random() % 40);
        const uint64_t key = InternCache::Key(parent, location);
        const uint32_t found = cache->Find(key);
        if (found == 0) {
          cache->Insert(key, value_of(parent, location));
        } else {
          hits.fetch_add(1, std::memory_order_relaxed);
          if (found != value_of(parent, location)) wrong.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(hits.load(), 1000u);
}

}  // namespace
}  // namespace plateau::unwind
