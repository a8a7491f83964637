#include "analyzer/replay/live_object.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace plateau::replay {

bool operator==(const LiveObject& a, const LiveObject& b) {
  return a.bytes == b.bytes && a.stack == b.stack && a.birth == b.birth && a.rate == b.rate &&
         a.flags == b.flags && a.pool == b.pool;
}

namespace {

constexpr uint8_t kLabel = 3 << kObjectLabelShift;
constexpr uint32_t kEras = 1 << PackedObject::kEraBits;

void Ignore(uint32_t, const Era&) {}

TEST(LiveObjectTest, SmallObjectsOfNoSpecialKindTakeAWord) {
  ObjectPacker packer(Ignore);
  const size_t before = packer.capacity_bytes();
  EXPECT_EQ(before, 0u);
  const LiveObject object{.bytes = (1 << 17) - 1,
                          .stack = (1 << 26) - 1,
                          .birth = 7,
                          .rate = 2,
                          .flags = kLabel,
                          .pool = Pool::kPython};
  const PackedObject packed = packer.Pack(object);
  EXPECT_TRUE(packed.is_plain());
  EXPECT_FALSE(packed.is_none());
  EXPECT_TRUE(packer.Unpack(packed) == object);
  EXPECT_TRUE(packer.Pack({}).is_plain());
  EXPECT_FALSE(packer.Pack({}).is_none());
}

TEST(LiveObjectTest, OthersAreKeptAsTheyAre) {
  ObjectPacker packer(Ignore);
  for (const LiveObject& object :
       {LiveObject{.bytes = 1 << 17}, LiveObject{.bytes = LiveObject::kMostBytes},
        LiveObject{.stack = 1 << 26},
        LiveObject{
            .stack = UINT32_MAX, .birth = UINT32_MAX, .rate = 255, .flags = 255, .pool = Pool::kPython},
        LiveObject{.bytes = 8, .flags = kObjectTensor},
        LiveObject{.bytes = 8, .flags = kObjectParts | kLabel},
        LiveObject{.bytes = 8, .flags = kObjectDoomed}}) {
    const PackedObject packed = packer.Pack(object);
    EXPECT_FALSE(packed.is_plain());
    EXPECT_FALSE(packed.is_none());
    EXPECT_TRUE(packer.Unpack(packed) == object);
  }
}

TEST(LiveObjectTest, ObjectsOfOneEraShareItsNumber) {
  ObjectPacker packer(Ignore);
  packer.Pack({.bytes = 1, .birth = 5});
  const uint32_t number = packer.NumberOf({6, 1, kLabel, Pool::kPython}).value();
  const PackedObject packed = PackedObject::Plain(number, 100, 42);
  EXPECT_TRUE(
      packer.Unpack(packed) ==
      (LiveObject{.bytes = 100, .stack = 42, .birth = 6, .rate = 1, .flags = kLabel, .pool = Pool::kPython}));
  EXPECT_EQ(packer.NumberOf({6, 1, kLabel, Pool::kPython}), number);
  EXPECT_NE(packer.NumberOf({6, 2, kLabel, Pool::kPython}), number);
  EXPECT_NE(packer.NumberOf({6, 1, kLabel, Pool::kHeap}), number);
  EXPECT_NE(packer.NumberOf({6, 1, 0, Pool::kPython}), number);
  EXPECT_NE(packer.NumberOf({7, 1, kLabel, Pool::kPython}), number);
}

// The accounts know eras by what they are told, so they must be told of each before its first object, also
// when a number is used for another era.
TEST(LiveObjectTest, WhatANumberMeansIsToldBeforeItIsUsed) {
  std::vector<Era> told;
  ObjectPacker packer([&told](uint32_t number, const Era& era) {
    if (number >= told.size()) told.resize(number + 1);
    told[number] = era;
  });
  for (uint32_t birth = 0; birth < 10; ++birth) {
    const PackedObject packed = packer.Pack({.bytes = 8, .birth = birth, .rate = 3, .pool = Pool::kPython});
    ASSERT_LT(packed.era(), told.size());
    EXPECT_EQ(told[packed.era()].birth, birth);
    EXPECT_EQ(told[packed.era()].rate, 3);
    EXPECT_EQ(told[packed.era()].pool, Pool::kPython);
  }
  packer.ReuseEras(std::vector<bool>(packer.era_count()));
  const PackedObject packed = packer.Pack({.bytes = 8, .birth = 77});
  EXPECT_LT(packed.era(), 10u);
  EXPECT_EQ(told.at(packed.era()).birth, 77u);
  EXPECT_EQ(told.at(packed.era()).pool, Pool::kHeap);
}

// There are more steps with phases than numbers for eras: later objects are kept, nothing else changes.
TEST(LiveObjectTest, EndsOfNumbersForErasAreNoticed) {
  ObjectPacker packer(Ignore);
  for (uint32_t birth = 0; birth < kEras; ++birth) ASSERT_TRUE(packer.NumberOf({birth}).has_value());
  EXPECT_FALSE(packer.NumberOf({kEras}).has_value());
  const LiveObject late{.bytes = 10, .stack = 11, .birth = kEras + 1};
  EXPECT_FALSE(packer.Pack(late).is_plain());
  EXPECT_TRUE(packer.Unpack(packer.Pack(late)) == late);
  const LiveObject early{.bytes = 10, .stack = 11, .birth = kEras - 1};
  EXPECT_TRUE(packer.Pack(early).is_plain());
  EXPECT_TRUE(packer.Unpack(packer.Pack(early)) == early);
}

TEST(LiveObjectTest, NumbersOfErasAreUsedAgain) {
  ObjectPacker packer(Ignore);
  for (uint32_t birth = 0; birth < kEras; ++birth) packer.NumberOf({birth});
  const LiveObject old{.bytes = 10, .stack = 11, .birth = 77};
  const PackedObject packed = packer.Pack(old);
  std::vector<bool> used(packer.era_count());
  used[packed.era()] = true;
  packer.ReuseEras(used);
  for (uint32_t birth = kEras; birth < 2 * kEras - 1; ++birth) {
    const auto number = packer.NumberOf({birth});
    ASSERT_TRUE(number.has_value());
    ASSERT_NE(*number, packed.era());
  }
  EXPECT_FALSE(packer.NumberOf({2 * kEras}).has_value());
  EXPECT_TRUE(packer.Unpack(packed) == old);
}

TEST(LiveObjectTest, MemoryFollowsWhatIsKept) {
  ObjectPacker packer(Ignore);
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
