#include "preload/base/clock.h"

#include <time.h>

#include "gtest/gtest.h"

namespace plateau {
namespace {

TEST(ClockTest, TimeGoesForward) {
  StartClock();
  uint64_t last = Now();
  for (int i = 0; i < 1000; ++i) {
    const uint64_t now = Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(ClockTest, TicksAgreeWithTheMonotonicClock) {
  StartClock();
  const uint64_t begin_tsc = Now(), begin_ns = ClockNs(CLOCK_MONOTONIC);
  CalibrateClock(begin_tsc, begin_ns);
  timespec pause = {0, 60'000'000};
  nanosleep(&pause, nullptr);
  const uint64_t end_tsc = Now(), end_ns = ClockNs(CLOCK_MONOTONIC);
  CalibrateClock(end_tsc, end_ns);
  const double ms = static_cast<double>(end_ns - begin_ns) / 1e6;
  // The thread may lose the processor between two reads, so the bound is wide; a wrong unit is off by thousands.
  EXPECT_NEAR(static_cast<double>(end_tsc - begin_tsc) / static_cast<double>(TicksOfMs(1)), ms, ms / 2);
}

}  // namespace
}  // namespace plateau
