#include "analyzer/process/process_run.h"

#include "gtest/gtest.h"

namespace plateau::process {
namespace {

using trace::DropReason;

reader::ReadSummary Lost(DropReason reason, uint64_t events) {
  reader::ReadSummary summary;
  summary.totals.alloc_calls = 600'000;
  summary.totals.free_calls = 400'000;
  summary.dropped_events[static_cast<size_t>(reason)] = events;
  return summary;
}

TEST(LostShareTest, NothingLost) {
  EXPECT_EQ(LostShare(reader::ReadSummary(), 0), 0);
  EXPECT_EQ(LostShare(Lost(DropReason::kWrite, 0), 1000), 0);
}

TEST(LostShareTest, CallsInsideOfAHookAreAShareOfAllCalls) {
  EXPECT_NEAR(LostShare(Lost(DropReason::kReentrant, 200), 1000), 0.0002, 1e-6);
  EXPECT_NEAR(LostShare(Lost(DropReason::kNoSlot, 200), 1000), 0.0002, 1e-6);
}

TEST(LostShareTest, RecordsThatWereNotWrittenAreAShareOfTheRecords) {
  EXPECT_NEAR(LostShare(Lost(DropReason::kWrite, 200), 800), 0.2, 1e-9);
  EXPECT_NEAR(LostShare(Lost(DropReason::kLimit, 200), 800), 0.2, 1e-9);
  EXPECT_EQ(LostShare(Lost(DropReason::kWrite, 200), 0), 1);
}

// A header that was lost has no counters.
TEST(LostShareTest, WithoutCountersTheEventsAreTheCalls) {
  reader::ReadSummary summary;
  summary.dropped_events[static_cast<size_t>(DropReason::kReentrant)] = 200;
  EXPECT_NEAR(LostShare(summary, 800), 0.2, 1e-9);
}

// Site 1 has two stacks, of which one frees all but a thousandth of a million blocks, and the other none of `kept`.
replay::StackRows RowsOfOneSite(int freed, int lost, int kept) {
  replay::StackRows rows;
  const uint32_t freeing = rows.Add(replay::Pool::kHeap, 10, 1),
                 keeping = rows.Add(replay::Pool::kHeap, 11, 1);
  for (int i = 0; i < freed + lost; ++i) rows.Born(freeing, 1000, 1, true);
  for (int i = 0; i < freed; ++i) rows.Died(freeing, 1000, 1, true, true);
  for (int i = 0; i < kept; ++i) rows.Born(keeping, 400000, 1, true);
  return rows;
}

TEST(KeepsDespiteLossTest, AStackThatKeepsAllItMadeLostNone) {
  series::RunContext run;
  EXPECT_TRUE(KeepsDespiteLoss(RowsOfOneSite(999000, 1000, 40), run).empty()) << "nothing was lost";
  run.lost_rate = 0.001;
  const std::vector<bool> keeps = KeepsDespiteLoss(RowsOfOneSite(999000, 1000, 40), run);
  ASSERT_EQ(keeps.size(), 2u);
  EXPECT_FALSE(keeps[0]);
  EXPECT_TRUE(keeps[1]);
}

TEST(KeepsDespiteLossTest, WhatStaysOfAllStacksAlikeMayBeLost) {
  series::RunContext run;
  run.lost_rate = 0.001;
  EXPECT_FALSE(KeepsDespiteLoss(RowsOfOneSite(999000, 1000, 0), run)[1]);
  EXPECT_FALSE(KeepsDespiteLoss(RowsOfOneSite(999000, 1000, 2), run)[1]) << "two are soon lost";
  run.lost_rate = 0.9;
  EXPECT_FALSE(KeepsDespiteLoss(RowsOfOneSite(999000, 1000, 40), run)[1]);
}

// A record of a sample stands for many blocks, and one may be lost.
TEST(KeepsDespiteLossTest, OneRecordOfASampleIsNotManyBlocks) {
  series::RunContext run;
  run.lost_rate = 0.001;
  run.sample_interval_bytes = 1000 * 400000.0;
  EXPECT_FALSE(KeepsDespiteLoss(RowsOfOneSite(0, 0, 40), run)[1]);
}

}  // namespace
}  // namespace plateau::process
