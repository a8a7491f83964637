// The malloc family and the kernel's maps under the shim: same results as without it, and every block
// accounted for.
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/traced_run.h"

namespace plateau::testing {
namespace {

using trace::RecordKind;

constexpr const char* kAllocators[] = {"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
                                       "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4",
                                       "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"};

TEST(HeapHooks, BlocksFromBeforeTheConstructorAreInTheTrace) {
  TracedRun run = RunTraced({Program("early_alloc")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "42 1 1\n");
  const TraceContent trace = ReadTrace(run.traces.at(0));
  EXPECT_EQ(trace.AllocsOfSize(10001), 0u);  // freed before recording began
  EXPECT_EQ(trace.AllocsOfSize(10002), 1u);
  EXPECT_EQ(trace.LiveCountOfSize(10002), 0u);
  EXPECT_EQ(trace.LiveCountOfSize(10003), 1u);
  EXPECT_EQ(trace.LiveCountOfSize(10004), 1u);
  EXPECT_EQ(trace.unknown_frees, 0u);
}

TEST(HeapHooks, AnotherAllocatorBehindTheShimGetsOnlyItsOwnBlocks) {
  int found = 0;
  for (const char* allocator : kAllocators) {
    if (!std::filesystem::exists(allocator)) continue;
    ++found;
    for (const char* mode : {"exact", "default", "off"}) {
      TracedRun run = RunTraced({Program("early_keep")}, {.mode = mode, .preload_behind = allocator});
      EXPECT_EQ(run.exit_code, 0) << allocator << mode << run.err;
      EXPECT_EQ(run.out, "ok\n") << allocator << mode;
      TracedRun threads =
          RunTraced({Program("truth"), "2000", "1"}, {.mode = mode, .preload_behind = allocator});
      EXPECT_EQ(threads.exit_code, 0) << allocator << mode << threads.err;
    }
  }
  if (found == 0) GTEST_SKIP() << "no other allocator here";
}

TEST(HeapHooks, OperatorNewOfAnotherAllocatorIsRecorded) {
  int found = 0;
  for (const char* allocator : {"", kAllocators[0], kAllocators[1], kAllocators[2]}) {
    if (*allocator != 0 && !std::filesystem::exists(allocator)) continue;
    found += *allocator != 0;
    TracedRun run = RunTraced({Program("operators")}, {.mode = "exact", .preload_behind = allocator});
    ASSERT_EQ(run.exit_code, 0) << allocator << run.err;
    EXPECT_EQ(run.out, "ok\n") << allocator;
    const TraceContent trace = ReadTrace(run.traces.at(0));
    EXPECT_EQ(trace.AllocsOfSize(10001), 1000u) << allocator;
    EXPECT_EQ(trace.LiveCountOfSize(10001), 400u) << allocator;
    for (const uint64_t bytes : {10003, 10004, 10006}) {
      EXPECT_EQ(trace.AllocsOfSize(bytes), 1u) << allocator << bytes;
      EXPECT_EQ(trace.LiveCountOfSize(bytes), 0u) << allocator << bytes;
    }
    // The C++ library rounds a size up to the alignment.
    EXPECT_EQ(trace.AllocsOfSize(10002) + trace.AllocsOfSize(10048), 2u - trace.AllocsOfSize(10005))
        << allocator;
    EXPECT_EQ(trace.LiveCountOfSize(10005) + trace.LiveCountOfSize(10048), 1u) << allocator;
    EXPECT_EQ(trace.unknown_frees, 0u) << allocator;
    EXPECT_EQ(trace.summary.TotalDroppedEvents(), 0u) << allocator;
  }
  if (found == 0) GTEST_SKIP() << "no other allocator here";
}

TEST(HeapHooks, ReusedAddressesAlternateBetweenThreads) {
  TracedRun run = RunTraced({Program("address_reuse"), "20000"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const TraceContent trace = ReadTrace(run.traces.at(0));
  // Reading checks that no address is live twice.
  EXPECT_EQ(trace.LiveCountOfSize(10001), 0u);
  EXPECT_EQ(trace.LiveCountOfSize(10002), 0u);
  EXPECT_EQ(trace.unknown_frees, 0u);
  EXPECT_EQ(trace.AllocsOfSize(10001), 160000u);
  EXPECT_EQ(trace.summary.TotalDroppedEvents(), 0u);
}

TEST(HeapHooks, ResultsAndErrnoAreThoseOfTheLibrary) {
  const std::string expected = RunTraced({Program("edge_cases")}, {.preload = false}).out;
  ASSERT_THAT(expected, ::testing::HasSubstr("realloc to 0"));
  EXPECT_EQ(RunTraced({Program("edge_cases")}, {.mode = "exact"}).out, expected);
  EXPECT_EQ(RunTraced({Program("edge_cases")}, {.mode = "default"}).out, expected);
  EXPECT_EQ(
      RunTraced({Program("edge_cases")}, {.mode = "default", .environment = {"PLATEAU_SAMPLE_BYTES=100"}})
          .out,
      expected);
  EXPECT_EQ(RunTraced({Program("edge_cases")}, {.mode = "off"}).out, expected);
}

TEST(HeapHooks, FailedReallocKeepsTheBlock) {
  for (const char* mode : {"exact", "default"}) {
    TracedRun run =
        RunTraced({Program("edge_cases")}, {.mode = mode, .environment = {"PLATEAU_EXACT_FROM=5000"}});
    const TraceContent trace = ReadTrace(run.traces.at(0));
    EXPECT_EQ(trace.CountOf(RecordKind::kReallocCancel), 1u) << mode;
  }
}

TEST(HeapHooks, EveryUsableByteBelongsToTheProgram) {
  for (const char* mode : {"exact", "default"}) {
    TracedRun run =
        RunTraced({Program("usable_size")}, {.mode = mode, .environment = {"MALLOC_PERTURB_=90"}});
    EXPECT_EQ(run.exit_code, 0) << mode;
    EXPECT_EQ(run.out, "ok\n") << mode;
  }
}

TEST(HeapHooks, CountersAreExactWhateverIsSampled) {
  for (const char* mode : {"exact", "default"}) {
    TracedRun run = RunTraced({Program("churn"), "500"}, {.mode = mode});
    ASSERT_EQ(run.exit_code, 0);
    const TraceContent trace = ReadTrace(run.traces.at(0));
    uint64_t bytes = 5 * 10001;
    for (long i = 0; i < 500; ++i) {
      for (long j = 0; j < 100; ++j) bytes += static_cast<uint64_t>((i * 7919 + j * 104729) % 20000 + 1);
    }
    // What the C library allocates around main (stdout's buffer, start-up) is a few blocks.
    EXPECT_GE(trace.summary.totals.alloc_calls, 50005u) << mode;
    EXPECT_LE(trace.summary.totals.alloc_calls, 50100u) << mode;
    EXPECT_GE(trace.summary.totals.alloc_bytes, bytes) << mode;
    EXPECT_LE(trace.summary.totals.alloc_bytes, bytes + 200000) << mode;
    EXPECT_GE(trace.summary.totals.free_calls, 50000u) << mode;
    EXPECT_EQ(trace.summary.totals.recorded_allocs, trace.allocs) << mode;
    EXPECT_EQ(trace.summary.totals.recorded_frees, trace.frees) << mode;
    if (std::string(mode) == "exact") {
      EXPECT_EQ(trace.summary.totals.alloc_calls, trace.allocs);
    }
  }
}

TEST(HeapHooks, MapsAreThoseOfTheKernel) {
  TracedRun run = RunTraced({Program("maps")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const TraceContent trace = ReadTrace(run.traces.at(0));
  std::set<uint64_t> pages;
  int64_t break_change = 0;
  const auto change = [&](uint64_t address, uint64_t bytes, bool live) {
    for (uint64_t page = address; page < address + bytes; page += 4096) {
      live ? (void)pages.insert(page) : (void)pages.erase(page);
    }
  };
  for (const TracedEvent& event : trace.events) {
    const trace::Record& r = event.record;
    if (r.kind == RecordKind::kMap) change(r.map.address, r.map.bytes, true);
    if (r.kind == RecordKind::kUnmap) change(r.unmap.address, r.unmap.bytes, false);
    if (r.kind == RecordKind::kRemap) {
      change(r.remap.old_address, r.remap.old_bytes, false);
      change(r.remap.new_address, r.remap.new_bytes, true);
    }
    if (r.kind == RecordKind::kBreak) break_change += r.brk.change_bytes;
  }
  std::set<uint64_t> expected;
  std::istringstream lines(run.out);
  uint64_t address, bytes;
  while (lines >> std::hex >> address >> std::dec >> bytes) {
    for (uint64_t page = address; page < address + bytes; page += 4096) expected.insert(page);
  }
  EXPECT_EQ(expected.size(), 16u + 4 + 8 + 33 + 8 + 32);
  EXPECT_EQ(pages, expected);
  EXPECT_EQ(break_change, 123 * 4096);
}

TEST(HeapHooks, SampledEstimatesAgreeWithTheCounters) {
  TracedRun run = RunTraced({Program("churn"), "4000"},
                            {.mode = "default", .environment = {"PLATEAU_SAMPLE_BYTES=65536"}});
  const TraceContent trace = ReadTrace(run.traces.at(0));
  double estimate = 0, variance = 0;
  for (const TracedEvent& event : trace.events) {
    if (event.record.kind != RecordKind::kAlloc) continue;
    const double s = static_cast<double>(event.record.alloc.bytes);
    const double p = s >= 16384 ? 1 : -std::expm1(-s / 65536);
    estimate += s / p;
    variance += (1 - p) / (p * p) * s * s;
  }
  const double truth = static_cast<double>(trace.summary.totals.alloc_bytes);
  EXPECT_NEAR(estimate, truth, 5 * std::sqrt(variance));  // the seed is the clock: once in two million runs
  EXPECT_LT(std::sqrt(variance) / truth, 0.02);
  EXPECT_EQ(trace.unknown_frees, 0u);
}

}  // namespace
}  // namespace plateau::testing
