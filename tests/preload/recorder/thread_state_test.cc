#include "preload/recorder/thread_state.h"

#include "gtest/gtest.h"

namespace plateau {
namespace {

TEST(GateTest, AWipedPageIsTheClosedState) {
  static Gate wiped = {};
  static Gate closed = {};
  closed.Set(GateState::RecordsAll());
  closed.Set(GateState::Closed());
  EXPECT_EQ(closed.fast_below.load(), wiped.fast_below.load());
  EXPECT_EQ(closed.fast_free.load(), wiped.fast_free.load());
  EXPECT_EQ(closed.live.load(), wiped.live.load());
  EXPECT_EQ(closed.records_all.load(), wiped.records_all.load());
}

TEST(GateTest, DefaultModeLetsSmallRequestsPassAndExactModeNone) {
  static Gate gate = {};
  gate.Set(GateState::Samples(16384));
  EXPECT_EQ(gate.fast_below.load(), 16384u);
  EXPECT_EQ(gate.fast_free.load(), 1u);
  EXPECT_EQ(gate.live.load(), 1u);
  EXPECT_EQ(gate.records_all.load(), 0u);
  gate.Set(GateState::RecordsAll());
  EXPECT_EQ(gate.fast_below.load(), 0u);
  EXPECT_EQ(gate.fast_free.load(), 0u);
  EXPECT_EQ(gate.live.load(), 1u);
  EXPECT_EQ(gate.records_all.load(), 1u);
}

TEST(GateTest, TheSizeLimitChangesARecordingThatRuns) {
  static Gate gate = {};
  gate.Set(GateState::RecordsAll());
  gate.Set(GateState::AsksForEach());
  EXPECT_EQ(gate.records_all.load(), 0u);
  EXPECT_EQ(gate.live.load(), 1u);
  gate.Set(GateState::Samples(100));
  gate.Set(GateState::SamplesCoarser(400));
  EXPECT_EQ(gate.fast_below.load(), 400u);
  EXPECT_EQ(gate.live.load(), 1u);
}

TEST(GateTest, TheSizeLimitDoesNotWakeARecordingThatHasEnded) {
  static Gate gate = {};
  gate.Set(GateState::Samples(100));
  gate.Set(GateState::Off(/*fast_free=*/false));
  gate.Set(GateState::SamplesCoarser(400));
  EXPECT_EQ(gate.live.load(), 0u);
  EXPECT_EQ(gate.fast_below.load(), UINT64_MAX);
  EXPECT_EQ(gate.fast_free.load(), 0u);
}

TEST(HookScopeTest, OnlyTheOutermostScopeRecords) {
  trace::Totals totals = {};
  ThreadState t = {};
  t.slot_totals = t.totals = &totals;
  {
    const HookScope outer(t);
    EXPECT_TRUE(outer);
    EXPECT_EQ(t.totals, nullptr);  // sends nested calls to the slow path
    {
      const HookScope inner(t);
      EXPECT_FALSE(inner);
      EXPECT_EQ(t.depth, 2u);
    }
    EXPECT_EQ(t.depth, 1u);
    EXPECT_EQ(t.totals, nullptr);
  }
  EXPECT_EQ(t.depth, 0u);
  EXPECT_EQ(t.totals, &totals);
}

TEST(HookScopeTest, OwnCallsNest) {
  ThreadState t = {};
  {
    const OwnCallScope outer(t);
    const OwnCallScope inner(t);
    EXPECT_EQ(t.own_calls, 2u);
  }
  EXPECT_EQ(t.own_calls, 0u);
}

}  // namespace
}  // namespace plateau
