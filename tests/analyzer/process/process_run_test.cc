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

}  // namespace
}  // namespace plateau::process
