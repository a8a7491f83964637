// Every wrapped call by every road that leads to it: the events must be the same, complete, and counted once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/preload/cuda/traced_program.h"

namespace plateau::cuda {
namespace {

using testing::ElementsAreArray;

// What programs/runtime_calls.h does.
const std::vector<std::string> kRuntimeEvents = {
    "alloc device 10001",
    "free device",
    "alloc device 3072",
    "free device",
    "alloc device 6144",
    "free device",
    "alloc managed 10002",
    "free device",
    "alloc array 8192",
    "free array",
    "alloc array 10240",
    "free array",
    "alloc array 1344",
    "free array",
    "alloc pinned 10003",
    "free pinned",
    "alloc pinned 10004",
    "free pinned",
    "alloc registered 10005",
    "free registered",
    "alloc async 10006",
    "free async",
    "alloc async 10007",
    "free async",
    "alloc async 10008",
    "free async",
    "alloc async 10009",
    "free async",
    "alloc device 10010",
    "alloc imported 10240",
    "free device",
    "alloc imported 10240",
    "free imported",
    "free device",
    "alloc imported 10012",
    "free device",
    "alloc async 10013 graph",
    "free async graph",
    "capture device 1 graph",
    "alloc device 10014 graph",
    "capture device graph",
    "free device",
    "capture device 1 graph",
    "capture device graph",
    "capture device 1 graph",
    "capture device graph",
    "capture device 1 graph",
    "capture device graph",
    "alloc async 10015",
    "free device",
    "alloc device 10016",
    "free async",
    "oom device 1099511627776",
    "alloc async 10017",
    "free async",
    "alloc async 10017",
    "free async",
    "alloc device 10018",
    "free device",
    "alloc device 10018",
    "free device",
    "alloc device 10019",
    "reset device",
    "alloc device 10020",
    "reset device",
};

// What programs/driver_calls.h does, in three parts: the middle one only where old names can be reached.
const std::vector<std::string> kDriverEvents = {
    "alloc device 10001",
    "free device",
    "alloc device 3072",
    "free device",
    "alloc managed 10002",
    "free device",
    "alloc array 8192",
    "free array",
    "alloc array 10240",
    "free array",
    "alloc array 1344",
    "free array",
    "alloc pinned 10003",
    "free pinned",
    "alloc pinned 10004",
    "free pinned",
    "alloc registered 10005",
    "free registered",
    "alloc async 10006",
    "free async",
    "alloc async 10008",
    "free async",
    "alloc device 10010",
    "alloc imported 10240",
    "free device",
    "alloc imported 10240",
    "free imported",
    "alloc imported 10012",
    "free device",
    "reserve device 4194304",
    "create device 2097152",
    "map device 2097152",
    "retain device",
    "release device",
    "create imported",
    "release device",
    "unmap device 2097152",
    "release device",
    "unreserve device 4194304",
    "create pinned 2097152",
    "release device",
    "oom device 1099511627776",
    "alloc async 10013 graph",
    "free async graph",
    "capture device 1 graph",
    "alloc device 10014 graph",
    "capture device graph",
    "free async",
    "capture device 1 graph",
    "capture device graph",
    "oom device 1099511627776",
};
const std::vector<std::string> kOldNameEvents = {
    "alloc registered 10005", "free registered",      "alloc async 10007",      "free async",
    "alloc async 10009",      "free async",           "alloc imported 10240",   "free imported",
    "capture device 1 graph", "capture device graph", "capture device 1 graph", "capture device graph",
    "reset device",
};
const std::vector<std::string> kTeardownEvents = {"alloc device 10021", "reset device", "reset device",
                                                  "reset device"};
const std::vector<std::string> kOldTeardownEvents = {"alloc device 10021", "reset device", "reset device",
                                                     "reset device", "reset device"};

std::vector<std::string> Join(std::initializer_list<std::vector<std::string>> parts) {
  std::vector<std::string> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

void ExpectLevel(const TracedRun& run, const std::string& level, const std::string& caller) {
  for (const TracedEvent& event : run.events) {
    EXPECT_EQ(event.caller, caller) << event.api;
    if (event.bytes == 10017 || event.bytes == 10018) continue;  // handed out by the runtime, tested apart
    if (event.op != "alloc") continue;
    EXPECT_EQ(event.level, level) << event.api;
    EXPECT_EQ(event.device, 0) << event.api;
  }
}

// Each free names an address that is live, in whichever family it was obtained; each address is live once.
void ExpectPaired(const TracedRun& run) {
  std::map<uint64_t, uint64_t> live;
  for (const TracedEvent& event : run.events) {
    if (event.op == "alloc") {
      EXPECT_TRUE(live.emplace(event.address, event.bytes).second) << event.api << " counted twice";
    } else if (event.op == "free") {
      EXPECT_EQ(live.erase(event.address), 1u) << event.api << " of unknown address";
    } else if (event.op == "reset") {
      live.clear();
    }
  }
}

TEST(CudaCallsTest, RuntimeCallsOfALinkedProgram) {
  const TracedRun run = RunTraced("linked_calls runtime");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(Summaries(run.events), ElementsAreArray(kRuntimeEvents));
  ExpectLevel(run, "runtime", "linked_calls");
  ExpectPaired(run);
}

TEST(CudaCallsTest, RuntimeCallsFoundByDlsymInEitherVersion) {
  for (const char* road : {"runtime12", "runtime13"}) {
    const TracedRun run = RunTraced(std::string("found_calls ") + road);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    EXPECT_THAT(Summaries(run.events), ElementsAreArray(kRuntimeEvents)) << road;
    ExpectLevel(run, "runtime", "found_calls");
    ExpectPaired(run);
  }
}

TEST(CudaCallsTest, DriverCallsOfALinkedProgram) {
  const TracedRun run = RunTraced("linked_calls driver");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(Summaries(run.events),
              ElementsAreArray(Join({kDriverEvents, kOldNameEvents, kOldTeardownEvents})));
  ExpectLevel(run, "driver", "linked_calls");
}

TEST(CudaCallsTest, DriverCallsFoundByDlsym) {
  const TracedRun run = RunTraced("found_calls driver");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(Summaries(run.events),
              ElementsAreArray(Join({kDriverEvents, kOldNameEvents, kOldTeardownEvents})));
  ExpectLevel(run, "driver", "found_calls");
}

TEST(CudaCallsTest, DriverCallsFoundByLookupInBothAbis) {
  for (const char* road : {"lookup1", "lookup2", "lookup2_per_thread"}) {
    const TracedRun run = RunTraced(std::string("found_calls ") + road);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    EXPECT_THAT(Summaries(run.events), ElementsAreArray(Join({kDriverEvents, kTeardownEvents}))) << road;
    ExpectLevel(run, "driver", "found_calls");
    EXPECT_GE(run.handed_out.at("cuMemAlloc_v2"), 1);
  }
}

TEST(CudaCallsTest, EveryRowOfTheTableIsCalledAndReported) {
  std::set<std::string> reported;
  for (const char* command : {"linked_calls runtime", "linked_calls driver"}) {
    const TracedRun run = RunTraced(command);
    for (const TracedEvent& event : run.events) reported.insert(event.api);
    for (const TracedEvent& event : run.pools) reported.insert(event.api);
  }
  const std::set<std::string> silent = {
      "cudaGetDriverEntryPoint", "cudaGetDriverEntryPoint_ptsz", "cudaGetDriverEntryPointByVersion",
      "cudaGetDriverEntryPointByVersion_ptsz", "cuGetProcAddress", "cuGetProcAddress_v2",
      // Its context is still retained when it is called, so there is nothing to report.
      "cuDevicePrimaryCtxRelease"};
  static const char* const kNames[] = {
#define PLATEAU_CUDA_RUNTIME(name, signature, memory) #name,
#define PLATEAU_CUDA_DRIVER(name, lookup, since, signature, memory) #name,
#include "preload/cuda/cuda_calls.inc"
#undef PLATEAU_CUDA_RUNTIME
#undef PLATEAU_CUDA_DRIVER
  };
  for (const char* name : kNames) EXPECT_EQ(reported.count(name), silent.count(name) == 0 ? 1u : 0u) << name;
}

TEST(CudaCallsTest, ResetOfOneContextNamesIt) {
  const TracedRun run = RunTraced("linked_calls driver");
  uint64_t context = 0;
  for (const TracedEvent& event : run.events) {
    if (event.bytes == 10021) context = event.handle;
    if (event.op != "reset") continue;
    const bool is_destroy = event.api == "cuCtxDestroy_v2";
    if (is_destroy || event.api == "cuDevicePrimaryCtxReset_v2") {
      EXPECT_EQ(event.handle, is_destroy ? context : 0u);
    }
  }
  EXPECT_NE(context, 0u);
}

TEST(CudaCallsTest, PoolsTellWhatTheyHold) {
  const TracedRun run = RunTraced("linked_calls runtime");
  // The first stream-ordered call polls the default pool: 10006 bytes rounded by the null device.
  ASSERT_FALSE(run.pools.empty());
  EXPECT_EQ(run.pools[0].api, "cudaMallocAsync");
  EXPECT_EQ(run.pools[0].bytes, 10240u);
  EXPECT_EQ(run.pools[0].total_bytes, 10240u);
  bool trimmed = false;
  for (const TracedEvent& event : run.pools) {
    if (event.api != "cudaMemPoolTrimTo") continue;
    trimmed = true;
    EXPECT_EQ(event.bytes, 0u);
  }
  EXPECT_TRUE(trimmed);
}

TEST(CudaCallsTest, TheSameProgramsRunWithoutUs) {
  for (const char* command : {"linked_calls runtime", "linked_calls driver", "found_calls lookup2"}) {
    EXPECT_EQ(RunTraced(command, "", false).exit_code, 0) << command;
  }
}

}  // namespace
}  // namespace plateau::cuda
