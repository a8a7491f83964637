// A program that keeps its own books, against what the trace says; truth_report_test.py asks the report.
#include <sstream>

#include "gtest/gtest.h"
#include "tests/support/traced_run.h"

namespace plateau::testing {
namespace {

TEST(Truth, LiveBytesAndCountsPerSiteAgreeExactly) {
  for (const char* seed : {"1", "2", "3"}) {
    TracedRun run = RunTraced({Program("truth"), "30000", seed});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const TraceContent trace = ReadTrace(run.TraceOf(run.pid));
    EXPECT_EQ(trace.summary.TotalDroppedEvents(), 0u);
    EXPECT_EQ(trace.unknown_frees, 0u);
    std::istringstream lines(run.out);
    uint64_t bytes, count, total, allocs;
    int sites = 0;
    while (lines >> bytes >> count >> total >> allocs) {
      EXPECT_EQ(trace.LiveCountOfSize(bytes), count) << bytes;
      EXPECT_EQ(trace.AllocsOfSize(bytes), allocs) << bytes;
      ++sites;
    }
    EXPECT_EQ(sites, 16);
  }
}

TEST(Truth, DefaultModeIsExactAboveItsThreshold) {
  TracedRun run = RunTraced({Program("truth"), "30000", "4"},
                            {.mode = "default", .environment = {"PLATEAU_EXACT_FROM=10000"}});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const TraceContent trace = ReadTrace(run.TraceOf(run.pid));
  EXPECT_EQ(trace.summary.TotalDroppedEvents(), 0u);
  std::istringstream lines(run.out);
  uint64_t bytes, count, total, allocs;
  while (lines >> bytes >> count >> total >> allocs) {
    EXPECT_EQ(trace.LiveCountOfSize(bytes), count) << bytes;
    EXPECT_EQ(trace.AllocsOfSize(bytes), allocs) << bytes;
  }
}

}  // namespace
}  // namespace plateau::testing
