// Device memory through the whole chain: program on the null device, both shims, trace, ledger.
#include <map>

#include "analyzer/device/device_ledger.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "preload/recorder/device_event.h"
#include "tests/support/traced_run.h"

namespace plateau::testing {
namespace {

using replay::DeviceLedger;
using replay::DevicePool;
using trace::RecordKind;

constexpr DevicePool kPinned{DevicePool::Kind::kPinned, -1};
constexpr DevicePool kReserved0{DevicePool::Kind::kReserved, 0};

TracedRun RunOnNullDevice(std::vector<std::string> command, const std::string& mode = "exact") {
  command[0] = CUDA_PROGRAM_DIR "/" + command[0];
  return RunTraced(command, {.mode = mode,
                             .environment = {"LD_LIBRARY_PATH=" NULL_DEVICE_DIR, "NULLDEVICE_DEVICES=2"},
                             .preload_behind = CUDA_SHIM});
}

// What a test of one thread may do: streams follow each other here.
void Apply(const TraceContent& trace, DeviceLedger* ledger) {
  uint64_t time = 0;
  for (const TracedEvent& event : trace.events) {
    if (event.record.kind == RecordKind::kDevice) ledger->Apply(event.record.device, ++time, 0);
  }
}

TEST(CudaTrace, EveryRuntimeCallArrivesInTheLedger) {
  for (const char* mode : {"exact", "default"}) {
    const TracedRun run = RunOnNullDevice({"linked_calls", "runtime"}, mode);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const TraceContent trace = ReadTrace(run.traces.at(0));
    DeviceLedger ledger(nullptr);
    Apply(trace, &ledger);
    EXPECT_EQ(ledger.unknown_frees(), 0u);
    EXPECT_EQ(ledger.lost_frees(), 0u);
    EXPECT_EQ(ledger.unknown_ops(), 0u);
    const auto& reserved = ledger.pools().at(kReserved0);
    EXPECT_EQ(reserved.alloc_count, 22u);  // programs/runtime_calls.h
    EXPECT_EQ(reserved.alloc_bytes, 10001u + 3072 + 6144 + 10002 + 8192 + 10240 + 1344 + 10006 + 10007 +
                                        10008 + 10009 + 10010 + 10013 + 10014 + 10015 + 10016 + 2 * 10017 +
                                        2 * 10018 + 10019 + 10020);
    EXPECT_EQ(reserved.live_bytes, 0u);
    EXPECT_EQ(ledger.pools().at(kPinned).alloc_bytes, 10003u + 10004);
    EXPECT_EQ(ledger.pools().at(kPinned).live_bytes, 0u);
    EXPECT_EQ(ledger.registered_bytes(), 0u);
    EXPECT_EQ(ledger.imported_bytes(), 0u);
    EXPECT_EQ(ledger.captures(), 4u);
    ASSERT_EQ(ledger.out_of_memory_count(), 1u);
    EXPECT_EQ(ledger.out_of_memory()[0].bytes, uint64_t{1} << 40);
  }
}

TEST(CudaTrace, EveryDriverCallArrivesInTheLedger) {
  const TracedRun run = RunOnNullDevice({"linked_calls", "driver"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  DeviceLedger ledger(nullptr);
  Apply(ReadTrace(run.traces.at(0)), &ledger);
  EXPECT_EQ(ledger.unknown_frees(), 0u);
  EXPECT_EQ(ledger.lost_frees(), 0u);
  EXPECT_EQ(ledger.pools().at(kReserved0).live_bytes, 0u);
  EXPECT_EQ(ledger.pools().at(kPinned).live_bytes, 0u);
  EXPECT_EQ(ledger.StateOf(0).address_space_bytes, 0u);
  EXPECT_EQ(ledger.out_of_memory_count(), 2u);
}

TEST(CudaTrace, DeviceEventsCarryTheStackOfTheirCaller) {
  const TracedRun run = RunOnNullDevice({"linked_calls", "runtime"});
  const TraceContent trace = ReadTrace(run.traces.at(0));
  std::map<uint32_t, int> events_of_stack;
  for (const TracedEvent& event : trace.events) {
    if (event.record.kind == RecordKind::kDevice) ++events_of_stack[event.record.device.stack];
  }
  EXPECT_EQ(events_of_stack.count(0), 0u);
  EXPECT_GT(events_of_stack.size(), 20u) << "each call has its own line";
}

TEST(CudaTrace, ThreadsOnTwoDevicesAreCountedExactly) {
  const TracedRun run = RunOnNullDevice({"threads"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::map<int, uint64_t> allocs, frees;
  for (const TracedEvent& event : ReadTrace(run.traces.at(0)).events) {
    if (event.record.kind != RecordKind::kDevice) continue;
    if (event.record.device.op == PLATEAU_DEVICE_ALLOC) ++allocs[event.record.device.device];
    if (event.record.device.op == PLATEAU_DEVICE_FREE) ++frees[event.record.device.device];
  }
  EXPECT_EQ(allocs, (std::map<int, uint64_t>{{0, 400}, {1, 400}}));
  EXPECT_EQ(frees, (std::map<int, uint64_t>{{-1, 800}}));
}

TEST(CudaTrace, AProgramWithoutCudaRunsAndRecordsAsWithOneLibrary) {
  const std::vector<std::string> command = {"/bin/ls", "-d", "/tmp"};
  const TracedRun both = RunTraced(command, {.preload_behind = CUDA_SHIM});
  const TracedRun one = RunTraced(command);
  EXPECT_EQ(both.exit_code, 0);
  EXPECT_EQ(both.out, one.out);
  EXPECT_EQ(both.err, one.err);
  const TraceContent with_both = ReadTrace(both.traces.at(0));
  const TraceContent with_one = ReadTrace(one.traces.at(0));
  EXPECT_EQ(with_both.CountOf(RecordKind::kDevice), 0u);
  EXPECT_EQ(with_both.allocs, with_one.allocs);
  EXPECT_EQ(with_both.frees, with_one.frees);
}

}  // namespace
}  // namespace plateau::testing
