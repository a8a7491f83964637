#include "preload/recorder/early_blocks.h"

#include <map>

#include "gtest/gtest.h"

namespace plateau {
namespace {

const void* Pointer(uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(EarlyBlocks, AreTakenOnce) {
  static EarlyBlocks blocks;
  size_t bytes = 0;
  EXPECT_TRUE(blocks.empty());
  blocks.Add(Pointer(0x1000), 10001);
  EXPECT_FALSE(blocks.Take(Pointer(0x2000), &bytes));
  EXPECT_TRUE(blocks.Take(Pointer(0x1000), &bytes));
  EXPECT_EQ(bytes, 10001u);
  EXPECT_FALSE(blocks.Take(Pointer(0x1000), &bytes));
  EXPECT_TRUE(blocks.empty());
}

TEST(EarlyBlocks, ManyComeAndGo) {
  static EarlyBlocks blocks;
  for (uintptr_t round = 0; round < 50; ++round) {
    for (uintptr_t i = 1; i <= 1000; ++i) blocks.Add(Pointer(0x5000000 + (round * 37 + i) * 16), i);
    for (uintptr_t i = 1; i <= 1000; ++i) {
      size_t bytes = 0;
      ASSERT_TRUE(blocks.Take(Pointer(0x5000000 + (round * 37 + i) * 16), &bytes));
      ASSERT_EQ(bytes, i);
    }
  }
  EXPECT_TRUE(blocks.empty());
}

TEST(EarlyBlocks, TakingOneLeavesTheOthersToBeFound) {
  static EarlyBlocks blocks;
  std::map<uintptr_t, size_t> expected;
  uint64_t random = 1;
  for (int i = 0; i < 200'000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uintptr_t address = 0x10000 + (random >> 40) % 9000 * 16;
    size_t bytes = 0;
    if (const auto found = expected.find(address); found != expected.end()) {
      ASSERT_TRUE(blocks.Take(Pointer(address), &bytes));
      ASSERT_EQ(bytes, found->second);
      expected.erase(found);
    } else {
      ASSERT_FALSE(blocks.Take(Pointer(address), &bytes));
      if (expected.size() == EarlyBlocks::kCapacity) continue;
      blocks.Add(Pointer(address), 10'000 + static_cast<size_t>(i));
      expected[address] = 10'000 + static_cast<size_t>(i);
    }
  }
  std::map<uintptr_t, size_t> seen;
  blocks.ForEach([&](uintptr_t address, size_t bytes) { seen[address] = bytes; });
  EXPECT_EQ(seen, expected);
}

TEST(EarlyBlocks, AFullTableForgetsWithoutHarm) {
  static EarlyBlocks blocks;
  for (uintptr_t i = 1; i <= EarlyBlocks::kCapacity + 100; ++i) blocks.Add(Pointer(i * 64), i);
  std::map<uintptr_t, size_t> seen;
  blocks.ForEach([&](uintptr_t address, size_t bytes) { seen[address] = bytes; });
  EXPECT_EQ(seen.size(), EarlyBlocks::kCapacity);
  size_t bytes = 0;
  EXPECT_TRUE(blocks.Take(Pointer(64), &bytes));
  EXPECT_FALSE(blocks.Take(Pointer((EarlyBlocks::kCapacity + 50) * 64), &bytes));
  blocks.Clear();
  EXPECT_TRUE(blocks.empty());
}

}  // namespace
}  // namespace plateau
