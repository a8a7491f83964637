// The objects of an allocator, seen from both sides.
#include "analyzer/pack/heap_objects.h"

#include "gtest/gtest.h"

namespace plateau {
namespace {

constexpr size_t kMost = 100;  // births and frees of a test

TEST(HeapObjectsTest, MemoryOfEarlierObjectsIsAsGoodAsNew) {
  HeapObjects::Memory memory;
  {
    HeapObjects objects(Allocator::kMalloc, 2, 2, &memory);
    objects.Add(0x1000, 4, false);
    objects.Free(1);
    objects.FreeElder(0x5000);
  }
  HeapObjects objects(Allocator::kMalloc, kMost, kMost, &memory);
  EXPECT_EQ(objects.newest(), 0u);
  EXPECT_EQ(objects.AddressOfFree(1), 0u);
  EXPECT_EQ(objects.CursorAt(0x1040), kCursors);
  uint64_t address = 0;
  EXPECT_FALSE(objects.TakePlace(0, 4, &address));
}

TEST(HeapObjectsTest, ClassesAreThoseOfTheAllocators) {
  HeapObjects::Memory memory[2];
  const HeapObjects malloc(Allocator::kMalloc, 0, 0, &memory[0]),
      pymalloc(Allocator::kPymalloc, 0, 0, &memory[1]);
  EXPECT_EQ(malloc.UnitsOf(0), 2u);
  EXPECT_EQ(malloc.UnitsOf(24), 2u);
  EXPECT_EQ(malloc.UnitsOf(25), 3u);
  EXPECT_EQ(pymalloc.UnitsOf(0), 1u);
  EXPECT_EQ(pymalloc.UnitsOf(16), 1u);
  EXPECT_EQ(pymalloc.UnitsOf(17), 2u);
  EXPECT_EQ(malloc.UnitsOf(UINT64_MAX), UINT64_MAX / 16 + 2);
}

TEST(HeapObjectsTest, TheObjectFreedLastIsOnTopOfItsList) {
  HeapObjects::Memory memory;
  HeapObjects objects(Allocator::kMalloc, kMost, kMost, &memory);
  for (const uint64_t address : {0x1000, 0x2000, 0x3000}) objects.Add(address, 4, false);
  objects.Free(1);
  objects.Free(3);
  objects.Free(2);
  EXPECT_EQ(objects.TakeObject(3, 5), kPlaceListed) << "another class";
  EXPECT_EQ(objects.TakeObject(3, 4), 1u);
  EXPECT_EQ(objects.TakeObject(3, 4), kPlaceListed) << "it has left the list";
  uint64_t address = 0;
  EXPECT_TRUE(objects.TakePlace(1, 4, &address));
  EXPECT_EQ(address, 0x1000u);
  EXPECT_TRUE(objects.TakePlace(0, 4, &address));
  EXPECT_EQ(address, 0x2000u);
  EXPECT_FALSE(objects.TakePlace(0, 4, &address));
  EXPECT_FALSE(objects.TakePlace(0, 5, &address)) << "another class";
}

TEST(HeapObjectsTest, AListThatDamageMadeALoopIsWalkedOnlySoFar) {
  HeapObjects::Memory memory;
  HeapObjects objects(Allocator::kMalloc, kMost, kMost, &memory);
  objects.Add(0x1000, 4, false);
  objects.Add(0x2000, 4, false);
  objects.Free(1);
  objects.Free(1);
  EXPECT_EQ(objects.TakeObject(2, 4), kPlaceListed);
  uint64_t address = 0;
  EXPECT_TRUE(objects.TakePlace(kPlaceListed - 1, 4, &address));
}

TEST(HeapObjectsTest, AnObjectDeepOnItsListIsNotLookedFor) {
  HeapObjects::Memory memory;
  HeapObjects objects(Allocator::kMalloc, kMost, kMost, &memory);
  for (uint32_t i = 0; i <= kPlaceListed; ++i) objects.Add(0x1000 + i * 0x100, 4, false);
  for (uint32_t i = 1; i <= kPlaceListed + 1; ++i) objects.Free(i);
  EXPECT_EQ(objects.TakeObject(1, 4), kPlaceListed) << "forty lie above it";
  EXPECT_EQ(objects.TakeObject(2, 4), kPlaceListed - 1);
  EXPECT_EQ(objects.TakeObject(1, 4), kPlaceListed - 1) << "one of them has left";
}

TEST(HeapObjectsTest, CursorsFollowWhatIsCutOffAndNotWhatComesFromAList) {
  HeapObjects::Memory memory;
  HeapObjects objects(Allocator::kMalloc, kMost, kMost, &memory);
  objects.Add(0x1000, 4, false);
  EXPECT_EQ(objects.CursorAt(0x1040), 0u) << "behind the new object";
  objects.Add(0x8000, 2, false);
  EXPECT_EQ(objects.CursorAt(0x8020), 0u);
  EXPECT_EQ(objects.CursorAt(0x1040), 1u);
  objects.Add(0x1040, 4, false);
  EXPECT_EQ(objects.CursorAt(0x1080), 0u) << "the cursor moved on";
  EXPECT_EQ(objects.CursorAt(0x1040), kCursors);
  objects.Add(0x9000, 4, true);
  EXPECT_EQ(objects.CursorAt(0x9040), kCursors) << "nothing was cut off";
  for (unsigned i = 0; i < kCursors; ++i) objects.Add(0x20000 + i * 0x1000, 2, false);
  EXPECT_EQ(objects.CursorAt(0x1080), kCursors) << "the oldest are forgotten";
  EXPECT_EQ(objects.Cursor(kCursors - 1), 0x20020u);
}

TEST(HeapObjectsTest, FreesAreNumberedWithThoseOfOlderObjects) {
  HeapObjects::Memory memory;
  HeapObjects objects(Allocator::kMalloc, kMost, kMost, &memory);
  objects.Add(0x1000, 4, false);
  objects.FreeElder(0x5000);
  objects.Free(1);
  EXPECT_EQ(objects.frees(), 2u);
  EXPECT_EQ(objects.AddressOfFree(1), 0x5000u);
  EXPECT_EQ(objects.AddressOfFree(2), 0x1000u);
  EXPECT_EQ(objects.AddressOfFree(0), 0u);
  EXPECT_EQ(objects.AddressOfFree(3), 0u) << "there was none";
  EXPECT_EQ(objects.AddressOfFree(UINT64_MAX), 0u);
}

TEST(HeapObjectsTest, EveryDistanceComesBack) {
  for (const uint64_t from : {uint64_t{0}, uint64_t{0x7f0000001000}, UINT64_MAX}) {
    for (const uint64_t address : {uint64_t{0}, uint64_t{1}, uint64_t{0x7f0000001010}, uint64_t{1} << 63,
                                   UINT64_MAX - 15, UINT64_MAX}) {
      uint8_t bytes[2 * trace::kMaxVarintBytes];
      uint8_t* const end = PutDistance(bytes, address, from);
      uint64_t read = 1;
      EXPECT_EQ(GetDistance(bytes, end, from, &read), end);
      EXPECT_EQ(read, address) << "from " << from;
      EXPECT_EQ(GetDistance(bytes, end - 1, from, &read), nullptr);
    }
  }
}

}  // namespace
}  // namespace plateau
