#include "preload/early_blocks.h"

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
