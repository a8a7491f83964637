#include "preload/ledger/residency.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "preload/base/clock.h"

namespace plateau {
namespace {

using trace::RegionKind;
using trace::ResidencyRecord;

constexpr size_t kMiB = 1 << 20;
constexpr uint64_t kOld = 1;  // a birth long ago

struct Written {
  std::vector<ResidencyRecord> records;
};

void Keep(void* context, const ResidencyRecord& record) {
  static_cast<Written*>(context)->records.push_back(record);
}

// Reads until nothing is due for want of time; what a read costs delays the next one.
std::vector<ResidencyRecord> ReadNow() {
  Written written;
  for (int i = 0; i < 8; ++i) {
    MaybeReadResidency({&written, Keep});
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  return written.records;
}

class ResidencyTest : public testing::Test {
 protected:
  void SetUp() override {
    StartClock();
    ResetResidency();
  }
  ~ResidencyTest() override {
    for (const auto& [address, bytes] : maps_) munmap(address, bytes);
  }
  char* Map(size_t bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, bytes, MADV_NOHUGEPAGE);
    maps_[p] = bytes;
    return static_cast<char*>(p);
  }
  static uintptr_t Number(const void* p) { return reinterpret_cast<uintptr_t>(p); }

  std::map<void*, size_t> maps_;
};

TEST_F(ResidencyTest, WhatIsTouchedIsInMemory) {
  char* const block = Map(64 * kMiB);
  FollowRegion(RegionKind::kBlock, Number(block), 64 * kMiB, kOld);
  std::memset(block, 1, 3 * kMiB);
  auto records = ReadNow();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].address, Number(block));
  EXPECT_EQ(records[0].bytes, 64 * kMiB);
  EXPECT_EQ(records[0].resident_bytes, 3 * kMiB);
  EXPECT_EQ(records[0].birth_tsc, kOld);
  std::memset(block, 1, 5 * kMiB);
  records = ReadNow();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].resident_bytes, 5 * kMiB);
}

TEST_F(ResidencyTest, WhereNothingMovesNothingIsWritten) {
  char* const block = Map(8 * kMiB);
  FollowRegion(RegionKind::kBlock, Number(block), 8 * kMiB, kOld);
  std::memset(block, 1, kMiB);
  EXPECT_EQ(ReadNow().size(), 1u);
  block[kMiB] = 1;  // one page is not worth a record
  EXPECT_EQ(ReadNow().size(), 0u);
}

TEST_F(ResidencyTest, AWholeBlockIsForgottenWithoutARecord) {
  char* const block = Map(2 * kMiB);
  FollowRegion(RegionKind::kBlock, Number(block), 2 * kMiB, kOld);
  std::memset(block, 1, 2 * kMiB);
  EXPECT_EQ(ReadNow().size(), 0u);
  EXPECT_EQ(FollowedRegions(), 0u);
}

TEST_F(ResidencyTest, ABlockThatFillsUpSaysSoAndIsForgotten) {
  char* const block = Map(2 * kMiB);
  FollowRegion(RegionKind::kBlock, Number(block), 2 * kMiB, kOld);
  EXPECT_EQ(ReadNow().size(), 1u);
  std::memset(block, 1, 2 * kMiB);
  const auto records = ReadNow();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].resident_bytes, 2 * kMiB);
  EXPECT_EQ(FollowedRegions(), 0u);
}

TEST_F(ResidencyTest, AMapThatGivesPagesBackIsSeen) {
  char* const map = Map(16 * kMiB);
  FollowRegion(RegionKind::kMap, Number(map), 16 * kMiB, kOld);
  std::memset(map, 1, 16 * kMiB);
  EXPECT_EQ(ReadNow().at(0).resident_bytes, 16 * kMiB);
  madvise(map, 12 * kMiB, MADV_DONTNEED);
  EXPECT_EQ(ReadNow().at(0).resident_bytes, 4 * kMiB);
}

TEST_F(ResidencyTest, YoungAndSmallRegionsAreLeftAlone) {
  char* const map = Map(4 * kMiB);
  FollowRegion(RegionKind::kMap, Number(map), kMiB - 1, kOld);
  EXPECT_EQ(FollowedRegions(), 0u);
  FollowRegion(RegionKind::kMap, Number(map), 4 * kMiB, Now());
  Written written;
  MaybeReadResidency({&written, Keep});
  EXPECT_EQ(written.records.size(), 0u);
  EXPECT_EQ(ReadNow().size(), 1u) << "when it is older";
}

TEST_F(ResidencyTest, UnmappedEdgesAndMiddlesAreTakenOut) {
  char* const map = Map(64 * kMiB);
  FollowRegion(RegionKind::kMap, Number(map), 64 * kMiB, kOld);
  ForgetMaps(Number(map), kMiB);  // as an allocator that aligns its arena
  ForgetMaps(Number(map + 63 * kMiB), kMiB);
  std::memset(map + kMiB, 1, 2 * kMiB);
  auto records = ReadNow();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].address, Number(map + kMiB));
  EXPECT_EQ(records[0].bytes, 62 * kMiB);
  EXPECT_EQ(records[0].resident_bytes, 2 * kMiB);
  ForgetMaps(Number(map + 20 * kMiB), 4 * kMiB);
  EXPECT_EQ(FollowedRegions(), 2u);
  std::memset(map + 30 * kMiB, 1, kMiB);
  records = ReadNow();
  ASSERT_EQ(records.size(), 1u) << "the front is as it was";
  EXPECT_EQ(records[0].address, Number(map + 24 * kMiB));
  EXPECT_EQ(records[0].resident_bytes, kMiB);
  ForgetMaps(Number(map), 64 * kMiB);
  EXPECT_EQ(FollowedRegions(), 0u);
}

TEST_F(ResidencyTest, AFreedBlockIsForgottenAndAnUnmappedOneToo) {
  char* const first = Map(4 * kMiB);
  char* const second = Map(4 * kMiB);
  FollowRegion(RegionKind::kBlock, Number(first), 4 * kMiB, kOld);
  FollowRegion(RegionKind::kBlock, Number(second), 4 * kMiB, kOld);
  ForgetBlock(Number(first));
  EXPECT_EQ(FollowedRegions(), 1u);
  munmap(second, 4 * kMiB);  // exact mode does not say that it was freed
  maps_.erase(second);
  EXPECT_EQ(ReadNow().size(), 0u);
  EXPECT_EQ(FollowedRegions(), 0u);
}

TEST_F(ResidencyTest, AFullTableMakesRoomForBlocksAndCountsMaps) {
  char* const space = Map(4 * kMiB);
  for (size_t i = 0; i < kMaxRegions; ++i) {
    FollowRegion(RegionKind::kBlock, Number(space + i), kMiB, kOld + i);
  }
  EXPECT_EQ(FollowedRegions(), kMaxRegions);
  FollowRegion(RegionKind::kBlock, Number(space + kMaxRegions), kMiB, kOld + kMaxRegions);
  EXPECT_EQ(FollowedRegions(), kMaxRegions);
  EXPECT_EQ(MissedRegions(), 0u);
  ResetResidency();
  for (size_t i = 0; i <= kMaxRegions; ++i) {
    FollowRegion(RegionKind::kMap, Number(space) + 4096 * i, kMiB, kOld);
  }
  EXPECT_EQ(FollowedRegions(), kMaxRegions);
  EXPECT_EQ(MissedRegions(), 1u);
}

TEST_F(ResidencyTest, ANewFilterOfSystemCallsEndsTheAsking) {
  char* const map = Map(4 * kMiB);
  NoteSystemCallFilters(1);  // a container's own
  NoteSystemCallFilters(1);
  EXPECT_EQ(GetResidencyState(), ResidencyState::kOpen);
  FollowRegion(RegionKind::kMap, Number(map), 4 * kMiB, kOld);
  NoteSystemCallFilters(2);
  EXPECT_EQ(GetResidencyState(), ResidencyState::kFilter);
  EXPECT_EQ(ReadNow().size(), 0u);
}

}  // namespace
}  // namespace plateau
