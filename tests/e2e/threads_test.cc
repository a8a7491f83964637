// Threads, signals and the loader.
#include <algorithm>
#include <cmath>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/traced_run.h"

namespace plateau::testing {
namespace {

using trace::RecordKind;

TEST(Threads, TenThousandShortOnesAreCountedExactlyInFewSlots) {
  TracedRun run = RunTraced({Program("short_threads"), "10000"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const TraceContent trace = ReadTrace(run.traces.at(0));
  EXPECT_EQ(trace.LiveCountOfSize(10001), 10000u);
  EXPECT_EQ(trace.AllocsOfSize(10002), 20000u);
  EXPECT_EQ(trace.LiveCountOfSize(10002), 0u);
  EXPECT_EQ(trace.unknown_frees, 0u);
  EXPECT_EQ(trace.summary.TotalDroppedEvents(), 0u);
  EXPECT_EQ(trace.header.extent_count, 1u);
  EXPECT_EQ(trace.CountOf(RecordKind::kThreadEnd), 10000u);
}

TEST(Threads, StartNamesItsCreator) {
  TracedRun run = RunTraced({Program("short_threads"), "8"});
  const TraceContent trace = ReadTrace(run.traces.at(0));
  int with_creator = 0;
  for (const TracedEvent& event : trace.events) {
    if (event.record.kind != RecordKind::kThreadStart || event.stream == 1) continue;
    EXPECT_EQ(event.record.thread_start.creator_stream, 1u);
    EXPECT_NE(event.record.thread_start.creator_stack, 0u);
    ++with_creator;
  }
  EXPECT_EQ(with_creator, 8);
}

TEST(Threads, SignalHandlersThatAllocateAreCountedNotRecorded) {
  for (const char* mode : {"exact", "default"}) {
    TracedRun run = RunTraced({Program("signal_malloc")}, {.mode = mode});
    EXPECT_EQ(run.exit_code, 0) << mode;
    EXPECT_EQ(run.out, "1\n") << mode;
    const TraceContent trace = ReadTrace(run.traces.at(0));
    if (std::string(mode) == "exact") {
      // The program spends most of its time in our hook, so some signals come there.
      EXPECT_GT(trace.summary.dropped_events[static_cast<size_t>(trace::DropReason::kReentrant)], 0u);
      EXPECT_GT(trace.AllocsOfSize(48), 7u);
    }
  }
}

TEST(Threads, UnloadedCodeIsForgotten) {
  TracedRun run = RunTraced({Program("dlclose_reload"), "200"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const TraceContent trace = ReadTrace(run.traces.at(0));
  EXPECT_EQ(trace.AllocsOfSize(10201), 200u);
  EXPECT_EQ(trace.LiveCountOfSize(10201), 0u);
  uint64_t loads = 0, gone = 0;
  for (const TracedEvent& event : trace.events) {
    if (event.record.kind == RecordKind::kModule &&
        event.record.module.path.find("plugin.so") != std::string_view::npos) {
      ++loads;
    }
    if (event.record.kind == RecordKind::kModuleGone) ++gone;
  }
  EXPECT_EQ(loads, 200u);
  EXPECT_EQ(gone, 200u);
}

TEST(Threads, LoaderLocksAndHooksDoNotWaitForEachOther) {
  for (const char* mode : {"exact", "default"}) {
    TracedRun run = RunTraced({Program("loader_locks"), "2000"}, {.mode = mode});
    EXPECT_EQ(run.exit_code, 0) << mode << run.err;
    EXPECT_EQ(run.out, "done\n");
  }
}

TEST(Threads, LedgerIsSampledEverySecond) {
  TracedRun run = RunTraced({Program("loader_locks"), "3300"}, {.mode = "default"});
  const TraceContent trace = ReadTrace(run.traces.at(0));
  int samples = 0, allocator = 0, host = 0;
  uint64_t first_tsc = 0, last_tsc = 0;
  for (const TracedEvent& event : trace.events) {
    if (event.record.kind != RecordKind::kLedger) continue;
    first_tsc = samples == 0 ? event.record.tsc : std::min(first_tsc, event.record.tsc);
    last_tsc = std::max(last_tsc, event.record.tsc);
    ++samples;
    std::map<trace::LedgerField, uint64_t> fields;
    for (uint32_t i = 0; i < event.record.ledger.count; ++i) {
      fields[event.record.ledger.fields[i].field] = event.record.ledger.fields[i].value;
    }
    EXPECT_GT(fields[trace::LedgerField::kRssAnonBytes], 0u);
    EXPECT_GT(fields[trace::LedgerField::kRssFileBytes], 0u);
    if (fields[trace::LedgerField::kHostLimitBytes] > 0) ++host;
    EXPECT_GT(fields[trace::LedgerField::kOwnBytes], 0u);
    if (fields.count(trace::LedgerField::kAllocatorArenaBytes)) ++allocator;
  }
  // The machine is asked at most once a second, and always at the end.
  EXPECT_GE(host, 2);
  // Until the first mark a sixteenth of the time passed lies between two readings, 10 ms at least, and never more than a
  // second; one comes at the end. By the trace's own clock: on a busy machine a run takes longer and a reading comes
  // late, but no more of them come. What passed before the first reading counts as well, hence the ten seconds more.
  const double seconds = static_cast<double>(last_tsc - first_tsc) * trace.seconds_per_tick;
  EXPECT_GE(seconds, 3.2);
  EXPECT_GE(samples, 3);
  EXPECT_LE(samples, 16 + 2 + std::log((seconds + 10) / 0.16) / std::log(17.0 / 16));
  EXPECT_GE(allocator, 1);  // asked less often when the machine is busy
  EXPECT_GE(trace.CountOf(RecordKind::kTotals), 3u);
}

}  // namespace
}  // namespace plateau::testing
