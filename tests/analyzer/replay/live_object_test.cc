#include "analyzer/replay/live_object.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace plateau::replay {

bool operator==(const LiveObject& a, const LiveObject& b) {
  return a.bytes == b.bytes && a.stack == b.stack && a.birth == b.birth && a.rate == b.rate &&
         a.flags == b.flags;
}

namespace {

constexpr uint8_t kLabel = 3 << kObjectLabelShift;

TEST(LiveObjectTest, SmallObjectsOfNoSpecialKindTakeAWord) {
  ObjectPacker packer;
  const size_t before = packer.capacity_bytes();
  EXPECT_EQ(before, 0u);
  const LiveObject object{
      .bytes = (1 << 18) - 1, .stack = (1 << 26) - 1, .birth = 7, .rate = 2, .flags = kLabel};
  const PackedObject packed = packer.Pack(object);
  EXPECT_TRUE(packed.is_plain());
  EXPECT_FALSE(packed.is_none());
  EXPECT_TRUE(packer.Unpack(packed) == object);
  EXPECT_TRUE(packer.Pack({}).is_plain());
  EXPECT_FALSE(packer.Pack({}).is_none());
}

TEST(LiveObjectTest, OthersAreKeptAsTheyAre) {
  ObjectPacker packer;
  for (const LiveObject& object :
       {LiveObject{.bytes = 1 << 18}, LiveObject{.bytes = LiveObject::kMostBytes},
        LiveObject{.stack = 1 << 26},
        LiveObject{.stack = UINT32_MAX, .birth = UINT32_MAX, .rate = 255, .flags = 255},
        LiveObject{.bytes = 8, .flags = kObjectTensor},
        LiveObject{.bytes = 8, .flags = kObjectParts | kLabel},
        LiveObject{.bytes = 8, .flags = kObjectDoomed}}) {
    const PackedObject packed = packer.Pack(object);
    EXPECT_FALSE(packed.is_plain());
    EXPECT_FALSE(packed.is_none());
    EXPECT_TRUE(packer.Unpack(packed) == object);
  }
}

TEST(LiveObjectTest, ObjectsOfOneEraAreAsItsBirthsSay) {
  ObjectPacker packer;
  packer.Pack({.bytes = 1, .birth = 5});
  const ObjectPacker::Births births = packer.BirthsOf(6, 1, kLabel);
  ASSERT_GT(births.bytes_end, 100u);
  const PackedObject packed = PackedObject::Plain(births.era, 100, 42);
  EXPECT_TRUE(packer.Unpack(packed) ==
              (LiveObject{.bytes = 100, .stack = 42, .birth = 6, .rate = 1, .flags = kLabel}));
  EXPECT_EQ(packer.EraOf(packed).birth_word, uint64_t{6} << 32);
  EXPECT_EQ(packer.EraOf(packed).rate_word, uint64_t{1} << ObjectPacker::kRateShift);
  EXPECT_EQ(packer.BirthsOf(6, 1, kLabel).era, births.era);
  EXPECT_NE(packer.BirthsOf(6, 2, kLabel).era, births.era);
}

// There are more steps with phases than numbers for eras: later objects are kept, nothing else changes.
TEST(LiveObjectTest, EndsOfNumbersForErasAreNoticed) {
  ObjectPacker packer;
  constexpr uint32_t kEras = 1 << PackedObject::kEraBits;
  for (uint32_t birth = 0; birth < kEras; ++birth) ASSERT_NE(packer.BirthsOf(birth, 0, 0).bytes_end, 0u);
  EXPECT_EQ(packer.BirthsOf(kEras, 0, 0).bytes_end, 0u);
  const LiveObject late{.bytes = 10, .stack = 11, .birth = kEras + 1};
  EXPECT_FALSE(packer.Pack(late).is_plain());
  EXPECT_TRUE(packer.Unpack(packer.Pack(late)) == late);
  const LiveObject early{.bytes = 10, .stack = 11, .birth = kEras - 1};
  EXPECT_TRUE(packer.Pack(early).is_plain());
  EXPECT_TRUE(packer.Unpack(packer.Pack(early)) == early);
}

TEST(LiveObjectTest, NumbersOfErasAreUsedAgain) {
  ObjectPacker packer;
  constexpr uint32_t kEras = 1 << PackedObject::kEraBits;
  for (uint32_t birth = 0; birth < kEras; ++birth) packer.BirthsOf(birth, 0, 0);
  const LiveObject old{.bytes = 10, .stack = 11, .birth = 77};
  const PackedObject packed = packer.Pack(old);
  std::vector<bool> used(packer.era_count());
  used[packed.era()] = true;
  packer.ReuseEras(used);
  for (uint32_t birth = kEras; birth < 2 * kEras - 1; ++birth) {
    const ObjectPacker::Births births = packer.BirthsOf(birth, 0, 0);
    ASSERT_NE(births.bytes_end, 0u);
    ASSERT_NE(births.era, packed.era());
  }
  EXPECT_EQ(packer.BirthsOf(2 * kEras, 0, 0).bytes_end, 0u);
  EXPECT_TRUE(packer.Unpack(packed) == old);
}

TEST(LiveObjectTest, MemoryFollowsWhatIsKept) {
  ObjectPacker packer;
  std::mt19937 random(1);
  std::vector<std::pair<PackedObject, LiveObject>> live;
  for (int i = 0; i < 200000; ++i) {
    const LiveObject object{.bytes = random() % (1 << 20),
                            .stack = static_cast<uint32_t>(random() % 1000),
                            .birth = static_cast<uint32_t>(random() % 50),
                            .flags = static_cast<uint8_t>(random() % 8)};
    live.emplace_back(packer.Pack(object), object);
    if (live.size() < 100) continue;
    std::swap(live[random() % live.size()], live.back());
    ASSERT_TRUE(packer.Unpack(live.back().first) == live.back().second);
    packer.Forget(live.back().first);
    live.pop_back();
  }
  for (const auto& [packed, object] : live) EXPECT_TRUE(packer.Unpack(packed) == object);
  EXPECT_LT(packer.capacity_bytes(), 64u << 10);
}

}  // namespace
}  // namespace plateau::replay
