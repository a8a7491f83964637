// The tables of a walk: which addresses it has met, what it has reached, what it looks for.
#include <gtest/gtest.h>
#include <time.h>

#include <cstring>
#include <memory>
#include <unordered_set>
#include <vector>

#include "preload/python/holders/tables/node_list.h"
#include "preload/python/holders/tables/stack_sums.h"
#include "preload/python/holders/tables/target_table.h"
#include "preload/python/holders/tables/visited_set.h"
#include "preload/python/holders/tables/walk_clock.h"
#include "preload/python/holders/tables/walk_memory.h"

namespace plateau::python::holders {
namespace {

TEST(WalkMemoryTest, TheLimitHoldsAndAllIsGivenBack) {
  const uint64_t before = OwnBytes();
  {
    WalkMemory memory(64 * 1024);
    auto* const first = memory.TakeArray<uint64_t>(1000);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first[999], 0u);
    EXPECT_EQ(memory.Take(60 * 1024), nullptr);
    EXPECT_NE(memory.Take(40 * 1024), nullptr);
    EXPECT_LE(memory.used_bytes(), 64u * 1024);
    EXPECT_GT(OwnBytes(), before);
  }
  EXPECT_EQ(OwnBytes(), before);
}

TEST(VisitedSetTest, AnAddressIsNewOnce) {
  WalkMemory memory(uint64_t{1} << 30);
  VisitedSet visited(&memory);
  ASSERT_TRUE(visited.Initialize());
  std::unordered_set<uintptr_t> truth;
  uint64_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    // Some thousand regions, near one another and far apart.
    const uintptr_t address = (state >> 33) % (uintptr_t{1} << 31) / 16 * 16 + ((state >> 20 & 7) << 40);
    EXPECT_EQ(visited.Contains(address), truth.count(address) != 0);
    EXPECT_EQ(visited.Insert(address), truth.insert(address).second) << address;
  }
  EXPECT_FALSE(visited.full());
}

TEST(VisitedSetTest, ObjectsOfSixteenBytesDoNotShareABit) {
  WalkMemory memory(uint64_t{1} << 30);
  VisitedSet visited(&memory);
  ASSERT_TRUE(visited.Initialize());
  // Static objects are aligned to 8 bytes only.
  for (uintptr_t address = 0x5555'0000'0008; address < 0x5555'0000'4000; address += 24)
    EXPECT_TRUE(visited.Insert(address)) << address;
}

TEST(VisitedSetTest, WithoutMemoryEverythingIsOld) {
  WalkMemory memory((uint64_t{1} << 20) + 8192);  // the table of regions, and no region
  VisitedSet visited(&memory);
  ASSERT_TRUE(visited.Initialize());
  EXPECT_FALSE(visited.Insert(0x1000));
  EXPECT_TRUE(visited.full());
}

TEST(NodeListTest, ParentsComeBack) {
  WalkMemory memory(uint64_t{1} << 30);
  NodeList nodes(&memory);
  ASSERT_TRUE(nodes.Initialize());
  for (uint32_t i = 1; i < 400000; ++i) ASSERT_TRUE(nodes.Append(uintptr_t{i} * 16, i / 2));
  EXPECT_EQ(nodes.size(), 400000u);
  for (const uint32_t i : {1u, 2u, 131071u, 131072u, 131073u, 399999u}) {
    EXPECT_EQ(nodes.word(i), uintptr_t{i} * 16);
    EXPECT_EQ(nodes.parent(i), i / 2);
    EXPECT_EQ(nodes.tag(i), NodeTag::kObject);
  }
}

TEST(StackSumsTest, GrowthIsOfEachStackHoweverManyThereAre) {
  const uint64_t before = OwnBytes();
  StackSums sums;
  constexpr uint32_t kStacks = 200'000;
  for (uint64_t look = 1; look <= 3; ++look) {
    ASSERT_TRUE(sums.BeginLook());
    EXPECT_EQ(sums.has_looked_twice(), look > 1);
    for (uint32_t stack = 1; stack <= kStacks; ++stack) sums.Add(stack * 7)->bytes += stack * look;
  }
  EXPECT_EQ(sums.size(), kStacks);
  for (uint32_t stack = 1; stack <= kStacks; ++stack) {
    const StackSum* const sum = sums.Find(stack * 7);
    ASSERT_NE(sum, nullptr);
    EXPECT_EQ(sum->bytes, stack * 3u);
    EXPECT_EQ(sum->growth(), int64_t{stack});
  }
  EXPECT_EQ(sums.Find(8), nullptr);
  sums.Clear();
  EXPECT_EQ(sums.Find(7), nullptr);
  EXPECT_EQ(OwnBytes(), before);
}

TEST(StackSumsTest, StacksThatHaveNothingMakeRoomForOthers) {
  StackSums sums;
  // More stacks than the largest table has places for, but only some of them live at any two looks.
  for (uint32_t look = 0; look < 40; ++look) {
    ASSERT_TRUE(sums.BeginLook());
    for (uint32_t i = 1; i <= 50'000; ++i) {
      StackSum* const sum = sums.Add(look * 50'000 + i);
      ASSERT_NE(sum, nullptr) << look;
      sum->bytes += i;
    }
  }
  EXPECT_LT(sums.size(), StackSums::kMostSlots);
  EXPECT_EQ(sums.Find(39 * 50'000 + 5)->growth(), 5);
  sums.Clear();
}

TEST(StackSumsTest, WhatHasNoPlaceIsLeftOut) {
  StackSums sums;
  ASSERT_TRUE(sums.BeginLook());
  uint32_t added = 0;
  for (uint32_t stack = 1; stack <= StackSums::kMostSlots; ++stack) {
    StackSum* const sum = sums.Add(stack);
    if (sum == nullptr) continue;
    sum->bytes = 1;
    ++added;
  }
  EXPECT_EQ(added, StackSums::kMostSlots / 4 * 3);
  sums.Clear();
}

TEST(TargetTableTest, EveryTargetIsFoundAndNothingElse) {
  const auto table = std::make_unique<TargetTable>();
  std::memset(static_cast<void*>(table.get()), 0, sizeof(TargetTable));
  for (uintptr_t i = 1; i <= TargetTable::kMaxTargets; ++i) EXPECT_TRUE(table->Add(i * 4096 + 16, i, 7));
  EXPECT_FALSE(table->Add(1, 1, 1));
  for (uintptr_t i = 1; i <= TargetTable::kMaxTargets; ++i) {
    ASSERT_NE(table->Find(i * 4096 + 16), nullptr);
    EXPECT_EQ(table->Find(i * 4096 + 16)->bytes, i);
    EXPECT_EQ(table->Find(i * 4096 + 32), nullptr);
  }
}

TEST(TargetTableTest, AKnownOwnerWinsOverAnOpaqueObject) {
  const auto table = std::make_unique<TargetTable>();
  std::memset(static_cast<void*>(table.get()), 0, sizeof(TargetTable));
  table->Add(0x1000, 1, 7);
  Target* const target = table->Find(0x1000);
  table->Found(target, 5, trace::HolderEnd::kOpaque);
  EXPECT_EQ(table->found(), 0u);
  table->Found(target, 6, trace::HolderEnd::kPath);
  EXPECT_EQ(target->node, 6u);
  EXPECT_EQ(table->found(), 1u);
  table->Found(target, 7, trace::HolderEnd::kPath);
  EXPECT_EQ(target->node, 6u);
}

TEST(WalkClockTest, SleepIsNotUsedUpAndWorkIs) {
  StartClock();
  WalkClock clock;
  clock.SetLimit(20'000'000);
  EXPECT_FALSE(clock.IsUp());
  const timespec pause = {0, 50'000'000};
  nanosleep(&pause, nullptr);
  EXPECT_FALSE(clock.IsUp());
  EXPECT_GE(clock.ElapsedNs(), 49'000'000u);
  while (!clock.IsUp()) continue;
  EXPECT_GE(clock.UsedNs(), 20'000'000u);
}

TEST(WalkClockTest, TheLongestWalkEndsByTheClock) {
  StartClock();
  WalkClock clock;
  EXPECT_FALSE(clock.IsUp());  // without a limit of the thread's own time
  const timespec pause = {0, (WalkClock::kMaxMs + 20) * 1'000'000};
  nanosleep(&pause, nullptr);
  EXPECT_TRUE(clock.IsUp());
}

}  // namespace
}  // namespace plateau::python::holders
