// The objects of an allocator, seen from both sides.
#include "analyzer/pack/heap_objects.h"

#include "gtest/gtest.h"

namespace plateau {
namespace {

TEST(HeapObjectsTest, ClassesAreThoseOfTheAllocators) {
  const HeapObjects malloc(Allocator::kMalloc), pymalloc(Allocator::kPymalloc);
  EXPECT_EQ(malloc.UnitsOf(0), 2u);
  EXPECT_EQ(malloc.UnitsOf(24), 2u);
  EXPECT_EQ(malloc.UnitsOf(25), 3u);
  EXPECT_EQ(pymalloc.UnitsOf(0), 1u);
  EXPECT_EQ(pymalloc.UnitsOf(16), 1u);
  EXPECT_EQ(pymalloc.UnitsOf(17), 2u);
  EXPECT_EQ(malloc.UnitsOf(UINT64_MAX), UINT64_MAX / 16 + 2);
}

TEST(HeapObjectsTest, TheObjectFreedLastIsOnTopOfItsList) {
  HeapObjects objects(Allocator::kMalloc);
  for (const uint64_t address : {0x1000, 0x2000, 0x3000}) objects.Add(address, 4);
  objects.Free(1);
  objects.Free(3);
  objects.Free(2);
  EXPECT_EQ(objects.TakeAddress(0x3000, 4), 1u);
  EXPECT_EQ(objects.TakeAddress(0x3000, 4), kPlaceListed) << "it has left the list";
  uint64_t address = 0;
  EXPECT_TRUE(objects.TakePlace(1, 4, &address));
  EXPECT_EQ(address, 0x1000u);
  EXPECT_TRUE(objects.TakePlace(0, 4, &address));
  EXPECT_EQ(address, 0x2000u);
  EXPECT_FALSE(objects.TakePlace(0, 4, &address));
  EXPECT_FALSE(objects.TakePlace(0, 5, &address)) << "another class";
}

TEST(HeapObjectsTest, AListThatDamageMadeALoopIsWalkedOnlySoFar) {
  HeapObjects objects(Allocator::kMalloc);
  objects.Add(0x1000, 4);
  objects.Free(1);
  objects.Free(1);
  EXPECT_EQ(objects.TakeAddress(0x2000, 4), kPlaceListed);
  uint64_t address = 0;
  EXPECT_TRUE(objects.TakePlace(kPlaceListed - 1, 4, &address));
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
