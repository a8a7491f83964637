#include "preload/sampler/unrecorded_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace plateau {
namespace {

std::unique_ptr<UnrecordedBlocks> Started() {
  auto blocks = std::make_unique<UnrecordedBlocks>();
  blocks->Start();
  return blocks;
}

TEST(UnrecordedBlocks, NothingIsNotedBeforeTheStart) {
  UnrecordedBlocks blocks;
  blocks.Note(0x1000);
  EXPECT_FALSE(blocks.Contains(0x1000));
  EXPECT_FALSE(blocks.Take(0x1000));
  blocks.Clear();
}

TEST(UnrecordedBlocks, ABlockIsTakenOnce) {
  const auto blocks = Started();
  blocks->Note(0x1000);
  EXPECT_TRUE(blocks->Contains(0x1000));
  EXPECT_FALSE(blocks->Take(0x1010));
  EXPECT_TRUE(blocks->Take(0x1000));
  EXPECT_FALSE(blocks->Take(0x1000));
}

// Forgotten is harmless, taken for another is not.
TEST(UnrecordedBlocks, ABlockWhosePlaceIsTakenIsForgottenAndNeverTakenForAnother) {
  const auto blocks = Started();
  constexpr uintptr_t kCount = 4 * UnrecordedBlocks::kPlaces;
  for (uintptr_t i = 1; i <= kCount; ++i) blocks->Note(i * 48);
  size_t known = 0;
  for (uintptr_t i = 1; i <= kCount; ++i) {
    EXPECT_FALSE(blocks->Take(i * 48 + 16));
    known += blocks->Take(i * 48);
  }
  EXPECT_GT(known, UnrecordedBlocks::kPlaces / 2);
  EXPECT_LE(known, UnrecordedBlocks::kPlaces);
}

TEST(UnrecordedBlocks, ANewRecordingKnowsNoneOfTheOldOnes) {
  const auto blocks = Started();
  blocks->Note(0x1000);
  blocks->Clear();
  EXPECT_FALSE(blocks->Take(0x1000));
  blocks->Start();
  blocks->Note(0x2000);
  blocks->Start();
  EXPECT_TRUE(blocks->Take(0x2000));
}

// Each thread has its own blocks, as the allocator gives them out; their places meet.
TEST(UnrecordedBlocks, ThreadsTakeOnlyTheirOwn) {
  const auto blocks = Started();
  std::vector<std::thread> threads;
  std::vector<size_t> taken(4), twice(4);
  for (size_t t = 0; t < taken.size(); ++t) {
    threads.emplace_back([&, t] {
      for (uintptr_t i = 1; i < 100000; ++i) {
        const uintptr_t address = (i * 4 + t) * 16;
        blocks->Note(address);
        if (!blocks->Take(address)) continue;
        ++taken[t];
        twice[t] += blocks->Take(address);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < taken.size(); ++t) {
    EXPECT_GT(taken[t], 90000u);
    EXPECT_EQ(twice[t], 0u);
  }
}

}  // namespace
}  // namespace plateau
