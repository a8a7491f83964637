#include "analyzer/replay/live_table.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace plateau::replay {
namespace {

TEST(LiveTableTest, BehavesLikeAMapUnderRandomInsertsAndErases) {
  LiveTable table;
  std::unordered_map<uint64_t, uint64_t> truth;
  std::mt19937_64 random(1);
  for (int i = 0; i < 400000; ++i) {
    const uint64_t address = (random() % 50000 + 1) * 16;
    LiveObject* found = table.Find(address);
    const auto it = truth.find(address);
    ASSERT_EQ(found != nullptr, it != truth.end());
    if (found != nullptr) {
      ASSERT_EQ(found->bytes, it->second);
      table.Erase(found);
      truth.erase(it);
    } else {
      table.FindOrAdd(address).object->bytes = random();
      truth[address] = table.Find(address)->bytes;
    }
    ASSERT_EQ(table.size(), truth.size());
  }
  size_t seen = 0;
  table.ForEach([&](const LiveObject& object) {
    EXPECT_EQ(truth.at(object.address()), object.bytes);
    ++seen;
  });
  EXPECT_EQ(seen, truth.size());
}

TEST(LiveTableTest, AddressZeroIsNeverFound) {
  LiveTable table;
  EXPECT_EQ(table.Find(0), nullptr);
  EXPECT_TRUE(table.FindOrAdd(16).is_new);
  EXPECT_FALSE(table.FindOrAdd(16).is_new);
  EXPECT_EQ(table.Find(0), nullptr);
}

TEST(LiveTableTest, MemoryStaysNearTheObjects) {
  LiveTable table;
  for (uint64_t i = 1; i <= 1000000; ++i) table.FindOrAdd(i * 48);
  EXPECT_LT(table.capacity_bytes(), 1000000 * sizeof(LiveObject) * 5 / 2);
}

TEST(LiveTableTest, MemoryFollowsWhatIsLiveWhenAddressesMoveOn) {
  LiveTable table;
  constexpr uint64_t kLive = 1000;
  for (uint64_t i = 1; i <= 2000000; ++i) {
    table.FindOrAdd(i * 64);
    if (i > kLive) table.Erase(table.Find((i - kLive) * 64));
  }
  EXPECT_EQ(table.size(), kLive);
  EXPECT_LT(table.capacity_bytes(), 256u << 10);
}

TEST(LiveTableTest, NeighboursOfOneByteAreDifferentObjects) {
  LiveTable table;
  for (uint64_t address = 4096; address < 4096 + 2048; ++address) {
    ASSERT_TRUE(table.FindOrAdd(address).is_new);
    table.Find(address)->bytes = address;
  }
  for (uint64_t address = 4096; address < 4096 + 2048; address += 3) table.Erase(table.Find(address));
  for (uint64_t address = 4096; address < 4096 + 2048; ++address) {
    const LiveObject* object = table.Find(address);
    ASSERT_EQ(object == nullptr, (address - 4096) % 3 == 0) << address;
    if (object == nullptr) continue;
    ASSERT_EQ(object->bytes, address);
  }
}

TEST(LiveTableTest, OnlyTheLowerBitsOfAnAddressCount) {
  LiveTable table;
  table.FindOrAdd(0xffff'7fff'ffff'fff0u).object->bytes = 7;
  ASSERT_NE(table.Find(0x7fff'ffff'fff0u), nullptr);
  EXPECT_EQ(table.Find(0x7fff'ffff'fff0u)->bytes, 7u);
}

TEST(LiveTableTest, PrefetchingAnAddressThatIsNotThereDoesNothing) {
  LiveTable table;
  for (const uint64_t address : {uint64_t{0}, uint64_t{16}, UINT64_MAX}) {
    table.PrefetchPage(address);
    table.PrefetchGroup(address);
    table.PrefetchObject(address);
  }
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace plateau::replay
