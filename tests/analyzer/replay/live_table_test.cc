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
    EXPECT_EQ(truth.at(object.address), object.bytes);
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

}  // namespace
}  // namespace plateau::replay
