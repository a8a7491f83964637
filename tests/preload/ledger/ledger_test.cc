#include "preload/ledger/ledger.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "gtest/gtest.h"
#include "preload/base/clock.h"

namespace plateau {
namespace {

using trace::LedgerField;

constexpr LedgerContext kParent = {.is_forked_child = false, .may_ask_allocator = true, .own_bytes = 10001};

class ShimLedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    StartClock();
    StartLedger();
  }
  std::optional<uint64_t> Field(LedgerField field) const {
    for (uint32_t i = 0; i < record_.count; ++i) {
      if (record_.fields[i].field == field) return record_.fields[i].value;
    }
    return std::nullopt;
  }
  trace::LedgerRecord record_;
};

TEST_F(ShimLedgerTest, ResidentMemoryGrowsByWhatIsTouched) {
  constexpr size_t kBytes = 64 << 20;
  ReadLedger(LedgerReason::kTick, kParent, &record_);
  const uint64_t before = Field(LedgerField::kRssAnonBytes).value_or(0);
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kBytes);
  ReadLedger(LedgerReason::kTick, kParent, &record_);
  const uint64_t after = Field(LedgerField::kRssAnonBytes).value_or(0);
  munmap(memory, kBytes);
  EXPECT_GT(before, 0u);
  EXPECT_GE(after, before + kBytes * 9 / 10);
}

TEST_F(ShimLedgerTest, OwnBytesAreThoseOfTheCaller) {
  ReadLedger(LedgerReason::kTick, kParent, &record_);
  EXPECT_EQ(Field(LedgerField::kOwnBytes), 10001u);
}

TEST_F(ShimLedgerTest, TheAllocatorIsAskedOnlyWhereNoArenaLockCanBeHeld) {
  ReadLedger(LedgerReason::kTick, kParent, &record_);
  EXPECT_FALSE(Field(LedgerField::kAllocatorArenaBytes).has_value());
  LedgerContext after_clone = kParent;
  after_clone.may_ask_allocator = false;
  ReadLedger(LedgerReason::kMark, after_clone, &record_);
  EXPECT_FALSE(Field(LedgerField::kAllocatorArenaBytes).has_value());
  ReadLedger(LedgerReason::kMark, kParent, &record_);
  EXPECT_TRUE(Field(LedgerField::kAllocatorArenaBytes).has_value());
}

TEST_F(ShimLedgerTest, OnlyAForkedChildLooksAtSharedPages) {
  EXPECT_EQ(ReadLedger(LedgerReason::kTick, kParent, &record_), 0u);
  EXPECT_FALSE(Field(LedgerField::kPrivateDirtyBytes).has_value());
  LedgerContext child = kParent;
  child.is_forked_child = true;
  const uint64_t private_bytes = ReadLedger(LedgerReason::kTick, child, &record_);
  EXPECT_EQ(private_bytes, Field(LedgerField::kPrivateDirtyBytes).value_or(0));
}

TEST_F(ShimLedgerTest, OneSampleIsClaimedInAnIntervalAndTheLastOneAlways) {
  EXPECT_TRUE(ClaimLedgerSample(LedgerReason::kMark, /*coarser=*/5));
  EXPECT_FALSE(ClaimLedgerSample(LedgerReason::kMark, /*coarser=*/5));
  EXPECT_TRUE(ClaimLedgerSample(LedgerReason::kEnd, /*coarser=*/5));
}

TEST_F(ShimLedgerTest, TheNextSampleIsDueLaterWhenTheTraceIsCoarser) {
  ASSERT_TRUE(ClaimLedgerSample(LedgerReason::kEnd, /*coarser=*/0));
  const uint64_t soon = g_next_ledger_tsc.load() - Now();
  ASSERT_TRUE(ClaimLedgerSample(LedgerReason::kEnd, /*coarser=*/1));
  EXPECT_GT(g_next_ledger_tsc.load() - Now(), 2 * soon);
}

TEST_F(ShimLedgerTest, UntilTheFirstMarkSamplesAreASixteenthOfTheTimeApart) {
  const uint64_t begin = Now();
  StartLedger();
  const uint64_t least = TicksOfMs(kQuickIntervalMs);
  const uint64_t before = Now();
  ASSERT_TRUE(ClaimLedgerSample(LedgerReason::kTick, /*coarser=*/0));
  const uint64_t after = Now();
  const uint64_t most = std::max(least, (after - begin) / kQuickShare);
  EXPECT_GE(g_next_ledger_tsc.load(), before + least);
  EXPECT_LE(g_next_ledger_tsc.load(), after + std::min(most, TicksOfMs(kLedgerIntervalMs)));
  EXPECT_TRUE(ClaimLedgerSample(LedgerReason::kEnd, /*coarser=*/0));
  (void)ClaimLedgerSample(LedgerReason::kMark, /*coarser=*/0);  // it need not be taken
  const uint64_t marked = Now();
  ASSERT_TRUE(ClaimLedgerSample(LedgerReason::kEnd, /*coarser=*/0));
  EXPECT_GE(g_next_ledger_tsc.load(), marked + TicksOfMs(kLedgerIntervalMs));
}

TEST_F(ShimLedgerTest, PartsTickAtMarksAndOnceASecond) {
  EXPECT_FALSE(ClaimPartsTick(LedgerReason::kEnd));
  const uint64_t first = Now();
  EXPECT_TRUE(ClaimPartsTick(LedgerReason::kTick));
  const bool again = ClaimPartsTick(LedgerReason::kTick);
  if (Now() - first < TicksOfMs(kLedgerIntervalMs)) {
    EXPECT_FALSE(again);
  }
  EXPECT_TRUE(ClaimPartsTick(LedgerReason::kMark));
}

}  // namespace
}  // namespace plateau
