// Whole processes: several runtimes, threads and devices, no CUDA at all, only one of the two libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/preload/cuda/traced_program.h"

namespace plateau::cuda {
namespace {

const std::string kPlugins = "./libcuda_plugin_12.so ./libcuda_plugin_13.so ";

TEST(CudaProcessTest, EachPluginReachesItsOwnRuntime) {
  const TracedRun run = RunTraced("two_runtimes " + kPlugins + "1");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(Summaries(run.events),
              testing::ElementsAre("oom device 1099511627776", "alloc device 10013", "free device",
                                   "alloc device 10012", "free device"));
  EXPECT_EQ(run.events[1].caller, "libcuda_plugin_13.so");
  EXPECT_EQ(run.events[2].caller, "libcuda_plugin_12.so");
  // Both runtimes fetched the same driver functions: one wrapper serves them.
  EXPECT_EQ(run.handed_out.at("cuMemAlloc_v2"), 1);
}

TEST(CudaProcessTest, UnloadedRuntimesAreForgotten) {
  const TracedRun run = RunTraced("two_runtimes " + kPlugins + "20");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.Count("alloc"), 40);
  EXPECT_EQ(run.Count("free"), 40);
  EXPECT_EQ(run.Count("oom"), 20);
}

TEST(CudaProcessTest, ThreadsAndDevicesAreCountedExactly) {
  const TracedRun run = RunTraced("threads", "NULLDEVICE_DEVICES=2");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  std::map<uint64_t, int> by_size;
  for (const TracedEvent& event : run.events) {
    if (event.op != "alloc") continue;
    ++by_size[event.bytes];
    EXPECT_EQ(event.device, static_cast<int>(event.bytes % 2));
  }
  EXPECT_THAT(by_size, testing::ElementsAre(testing::Pair(20000, 200), testing::Pair(20001, 200),
                                            testing::Pair(20002, 200), testing::Pair(20003, 200)));
  EXPECT_EQ(run.Count("free"), 800);
}

TEST(CudaProcessTest, TheLimitOfTheDeviceIsAnOutOfMemoryEvent) {
  const TracedRun run = RunTraced("threads", "NULLDEVICE_DEVICES=2 NULLDEVICE_BYTES=1000");
  EXPECT_NE(run.exit_code, 0);
  EXPECT_GE(run.Count("oom"), 1);
  EXPECT_EQ(run.Count("alloc"), 0);
}

TEST(CudaProcessTest, WithoutCudaEveryCallSaysSo) {
  const TracedRun run = RunTraced("no_cuda", "LD_LIBRARY_PATH=");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_TRUE(run.events.empty());
}

TEST(CudaProcessTest, WithoutARecorderTheProgramRunsAsBefore) {
  const TracedRun run = RunTraced("linked_calls runtime", "LD_PRELOAD=" CUDA_SHIM, false);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_TRUE(run.events.empty());
}

// Nobody may call in circles, whichever library comes first. First is our place: another dlsym before us asks
// the C library's directly, so functions found at run time pass us by.
TEST(CudaProcessTest, AnotherInterposerBeforeOrAfterUsIsPassedThrough) {
  const std::string ours = CUDA_SHIM ":" PROGRAM_DIR "/libdevice_event_recorder.so";
  const std::string other = PROGRAM_DIR "/libother_interposer.so";
  for (const char* command : {"linked_calls runtime", "found_calls runtime12", "found_calls lookup2"}) {
    const std::vector<std::string> expected = Summaries(RunTraced(command).events);
    const TracedRun after = RunTraced(command, "LD_PRELOAD=" + ours + ":" + other, false);
    EXPECT_EQ(after.exit_code, 0) << command << after.output;
    EXPECT_EQ(Summaries(after.events), expected) << command;
    const TracedRun before = RunTraced(command, "LD_PRELOAD=" + other + ":" + ours, false);
    EXPECT_EQ(before.exit_code, 0) << command << before.output;
    if (command[0] == 'l') {
      EXPECT_EQ(Summaries(before.events), expected) << command;
    }
  }
}

}  // namespace
}  // namespace plateau::cuda
