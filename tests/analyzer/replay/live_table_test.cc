#include "analyzer/replay/live_table.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <unordered_map>
#include <utility>

namespace plateau::replay {
namespace {

// Objects with numbers of their own. The table does not look into them.
PackedObject Numbered(uint64_t number) { return PackedObject::Kept(number); }

// Adds an object, or writes another over the one that is there.
void Put(LiveTable* table, uint64_t address, uint64_t number) {
  *table->FindOrAdd(address).object = Numbered(number);
}

// With addresses `step` bytes apart, each found ahead by some operations when `is_ahead`.
void CompareWithMap(uint64_t step, bool is_ahead) {
  LiveTable table;
  std::unordered_map<uint64_t, uint64_t> truth;
  std::mt19937_64 random(step);
  constexpr size_t kAhead = 16;
  std::deque<std::pair<uint64_t, LiveTable::Hint>> next;
  for (int i = 0; i < 400000; ++i) {
    const uint64_t soon = (random() % 50000 + 1) * step;
    table.PrefetchRegion(soon);
    LiveTable::Hint hint = is_ahead ? table.PrefetchPage(soon) : LiveTable::Hint();
    table.PrefetchObject(soon, hint);
    next.emplace_back(soon, hint);
    if (next.size() < kAhead) continue;
    const auto [address, old_hint] = next.front();
    next.pop_front();
    const LiveTable::Spot spot = table.Look(address, old_hint);
    const auto it = truth.find(address);
    ASSERT_EQ(spot.object != nullptr, it != truth.end());
    if (spot.object != nullptr) {
      ASSERT_EQ(spot.object->place(), it->second);
      table.Erase(spot);
      truth.erase(it);
    } else {
      const uint64_t number = random() >> 20;  // as many as there are places
      const LiveTable::Place place = table.FindOrAdd(address, old_hint);
      ASSERT_TRUE(place.is_new);
      *place.object = Numbered(number);
      truth[address] = number;
    }
    ASSERT_EQ(table.size(), truth.size());
  }
  size_t seen = 0;
  table.ForEach([&](uint64_t address, PackedObject object) {
    EXPECT_EQ(truth.at(address), object.place());
    ++seen;
  });
  EXPECT_EQ(seen, truth.size());
}

TEST(LiveTableTest, BehavesLikeAMapUnderRandomInsertsAndErases) {
  for (const uint64_t step : {1, 8, 16, 24, 4096}) {
    CompareWithMap(step, false);
    CompareWithMap(step, true);
  }
}

// Of a page whose group grew and shrank, of a region that was forgotten and whose memory has another one.
TEST(LiveTableTest, AHintThatIsOutOfDateDoesNoHarm) {
  LiveTable table;
  Put(&table, 16, 1);
  const LiveTable::Hint hint = table.PrefetchPage(16);
  for (uint64_t i = 2; i < 128; ++i) Put(&table, i * 16, i);
  EXPECT_EQ(table.Look(16, hint).object->place(), 1u);
  EXPECT_FALSE(table.FindOrAdd(16, hint).is_new);
  for (uint64_t i = 1; i < 128; ++i) table.Erase(table.Look(i * 16));
  EXPECT_EQ(table.Look(16, hint).object, nullptr);
  for (uint64_t i = 1; i < 100000; ++i) Put(&table, i << 20, i);
  EXPECT_EQ(table.Look(16, hint).object, nullptr);
  EXPECT_TRUE(table.FindOrAdd(16, hint).is_new);
}

// Most objects take the place of one that was at their address before; the others find room although every
// address of the page had its turn.
TEST(LiveTableTest, PlacesOfDeadObjectsDoNotAddUp) {
  LiveTable table;
  for (uint64_t i = 0; i < 200000; ++i) {
    const uint64_t address = 4096 + (i * 7 % 128) * 16;
    Put(&table, address, i);
    if (i >= 4) table.Erase(table.Look(4096 + ((i - 4) * 7 % 128) * 16));
  }
  EXPECT_EQ(table.size(), 4u);
  EXPECT_LT(table.capacity_bytes(), 8u << 10);
}

TEST(LiveTableTest, ObjectsThatAreFarApartTakeLittleMemory) {
  for (const uint64_t distance : {uint64_t{64} << 10, uint64_t{1} << 20}) {
    LiveTable table;
    for (uint64_t i = 1; i <= 100000; ++i) Put(&table, i * distance + 16, i);
    EXPECT_LT(table.capacity_bytes(), 100000u * 360);
  }
}

TEST(LiveTableTest, AddressZeroIsNeverFound) {
  LiveTable table;
  EXPECT_EQ(table.Find(0), nullptr);
  Put(&table, 16, 1);
  EXPECT_FALSE(table.FindOrAdd(16).is_new);
  EXPECT_EQ(table.Find(0), nullptr);
}

TEST(LiveTableTest, MemoryStaysNearTheObjects) {
  LiveTable table;
  for (uint64_t i = 1; i <= 1000000; ++i) Put(&table, i * 48, 1);
  EXPECT_LT(table.capacity_bytes(), 1000000 * sizeof(PackedObject) * 5 / 2);
}

TEST(LiveTableTest, MemoryFollowsWhatIsLiveWhenAddressesMoveOn) {
  LiveTable table;
  constexpr uint64_t kLive = 1000;
  for (uint64_t i = 1; i <= 2000000; ++i) {
    Put(&table, i * 64, 1);
    if (i > kLive) table.Erase(table.Look((i - kLive) * 64));
  }
  EXPECT_EQ(table.size(), kLive);
  EXPECT_LT(table.capacity_bytes(), 256u << 10);
}

TEST(LiveTableTest, NeighboursOfOneByteAreDifferentObjects) {
  LiveTable table;
  for (uint64_t address = 4096; address < 4096 + 2048; ++address) {
    const LiveTable::Place place = table.FindOrAdd(address);
    ASSERT_TRUE(place.is_new);
    *place.object = Numbered(address);
  }
  for (uint64_t address = 4096; address < 4096 + 2048; address += 3) table.Erase(table.Look(address));
  for (uint64_t address = 4096; address < 4096 + 2048; ++address) {
    const PackedObject* object = table.Find(address);
    ASSERT_EQ(object == nullptr, (address - 4096) % 3 == 0) << address;
    if (object == nullptr) continue;
    ASSERT_EQ(object->place(), address);
  }
  size_t seen = 0;
  table.ForEach([&](uint64_t address, PackedObject object) {
    EXPECT_EQ(object.place(), address);
    ++seen;
  });
  EXPECT_EQ(seen, table.size());
}

TEST(LiveTableTest, OnlyTheLowerBitsOfAnAddressCount) {
  LiveTable table;
  Put(&table, 0xffff'7fff'ffff'fff0u, 7);
  ASSERT_NE(table.Find(0x7fff'ffff'fff0u), nullptr);
  EXPECT_EQ(table.Find(0x7fff'ffff'fff0u)->place(), 7u);
}

TEST(LiveTableTest, PrefetchingAnAddressThatIsNotThereDoesNothing) {
  LiveTable table;
  for (const uint64_t address : {uint64_t{0}, uint64_t{16}, UINT64_MAX}) {
    table.PrefetchRegion(address);
    table.PrefetchObject(address, table.PrefetchPage(address));
  }
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace plateau::replay
