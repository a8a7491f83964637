// Fork, clone, vfork, spawn, exec: each process has its own trace, and a parent's trace is its own.
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/traced_run.h"

namespace plateau::testing {
namespace {

using ::testing::SizeIs;

class Children : public ::testing::TestWithParam<const char*> {};

TEST_P(Children, LeaveTheParentsTraceAlone) {
  const std::string way = GetParam();
  for (const char* mode : {"exact", "default"}) {
    // What the C library allocates for itself is never sampled: the two runs would differ by chance.
    const RunOptions options = {.mode = mode,
                                .environment = {"PLATEAU_EXACT_FROM=10000", "PLATEAU_SAMPLE_BYTES=1000G"}};
    TracedRun alone = RunTraced({Program("children"), "none"}, options);
    TracedRun run = RunTraced({Program("children"), way}, options);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    const TraceContent expected = ReadTrace(alone.TraceOf(alone.pid));
    const TraceContent parent = ReadTrace(run.TraceOf(run.pid));
    EXPECT_EQ(parent.AllocsOfSize(10005), 0u);
    EXPECT_EQ(parent.LiveCountOfSize(10001), 3u);
    EXPECT_EQ(parent.allocs, expected.allocs);
    EXPECT_EQ(parent.frees, expected.frees);
    EXPECT_EQ(parent.summary.TotalDroppedEvents(), 0u);
    EXPECT_EQ(parent.header.clean_exit, 1u);
    EXPECT_GE(run.traces.size(), way == "vfork" ? 1u : 2u);
  }
}

TEST_P(Children, RecordTheirOwn) {
  const std::string way = GetParam();
  if (way == "vfork") GTEST_SKIP() << "a vfork child shares its parent's memory and trace";
  TracedRun run = RunTraced({Program("children"), way});
  uint64_t found = 0;
  for (const std::string& path : run.traces) {
    const TraceContent trace = ReadTrace(path);
    found += trace.AllocsOfSize(10005);
    if (trace.AllocsOfSize(10005) == 0) continue;
    EXPECT_EQ(trace.info.at("role"), way == "spawn" ? "main" : "forked worker");
    if (way != "daemon") {
      EXPECT_EQ(trace.header.parent_pid, static_cast<uint32_t>(run.pid));
    }
    EXPECT_EQ(trace.info.at("parent"), std::to_string(trace.header.parent_pid));
    // Its stacks are defined in its own trace.
    for (const auto& [address, stack] : trace.live_stacks) {
      if (trace.live_bytes.at(address) == 10005) {
        EXPECT_NE(stack, 0u);
      }
    }
  }
  EXPECT_EQ(found, 500u);
}

INSTANTIATE_TEST_SUITE_P(Ways, Children, ::testing::Values("fork", "clone", "vfork", "spawn", "daemon"),
                         [](const auto& way) { return std::string(way.param); });

TEST(Processes, FollowSwitchedOffRecordsTheFirstProcessOnly) {
  for (const char* way : {"fork", "clone", "spawn"}) {
    TracedRun run = RunTraced({Program("children"), way}, {.environment = {"PLATEAU_FOLLOW=0"}});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.traces, SizeIs(1)) << way;
  }
  // An exec keeps the process.
  EXPECT_THAT(RunTraced({Program("exec_chain"), "2"}, {.environment = {"PLATEAU_FOLLOW=0"}}).traces,
              SizeIs(3));
}

TEST(Processes, ExecChainLeavesOneTraceEach) {
  TracedRun run = RunTraced({Program("exec_chain"), "2"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, "end 1\n");
  ASSERT_THAT(run.traces, SizeIs(3));
  for (const std::string& path : run.traces) EXPECT_EQ(ReadTrace(path).LiveCountOfSize(10001), 1u);
}

TEST(Processes, RelativeDirectoryIsTheSameForChildrenElsewhere) {
  TracedRun base = RunTraced({Program("churn"), "1"});
  TracedRun run =
      RunTraced({"/bin/sh", "-c",
                 "cd " + base.directory + " && mkdir inner && PLATEAU_OUT=rec exec /bin/sh -c 'cd inner && " +
                     Program("churn") + " 1'"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_FALSE(std::filesystem::exists(base.directory + "/inner/rec"));
  int traces = 0;
  for (const auto& entry : std::filesystem::directory_iterator(base.directory + "/rec")) {
    traces += entry.path().filename().string().rfind("churn.", 0) == 0;
  }
  EXPECT_EQ(traces, 1);
}

TEST(Processes, AProcessTitleOverTheEnvironmentLosesNoChild) {
  for (const char* mode : {"exact", "default"}) {
    TracedRun run = RunTraced({Program("process_title")}, {.mode = mode});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    // The program says which children it had; each has a trace in the recording, and none is anywhere else.
    ASSERT_THAT(run.traces, SizeIs(4)) << mode;
    uint64_t found = 0;
    for (const std::string& path : run.traces) found += ReadTrace(path).LiveCountOfSize(20005);
    EXPECT_EQ(found, 3u) << mode;
    EXPECT_EQ(run.out, "0 files in the working directory\n");
  }
}

TEST(Processes, ForkStormNeverHangs) {
  for (const char* mode : {"exact", "default"}) {
    TracedRun run = RunTraced({Program("fork_storm"), "100"}, {.mode = mode, .timeout_seconds = 100});
    EXPECT_EQ(run.exit_code, 0) << mode << run.err;
    EXPECT_EQ(run.out, "0 bad children\n") << mode;
    EXPECT_EQ(run.err, "") << mode;
    const TraceContent parent = ReadTrace(run.TraceOf(run.pid));
    EXPECT_EQ(parent.summary.gap_blocks, 0u);
    EXPECT_EQ(parent.summary.TotalDroppedEvents(), 0u);
    EXPECT_EQ(parent.unknown_frees, 0u);
    EXPECT_THAT(run.traces, SizeIs(101)) << mode;
  }
}

TEST(Processes, AChildWhoseLoaderIsLockedForGoodIsRecordedAndEnds) {
  for (const char* mode : {"exact", "default"}) {
    // Long enough for a tick, on which libraries would be looked for.
    TracedRun run = RunTraced({Program("fork_inside_walk"), "2500"}, {.mode = mode, .timeout_seconds = 100});
    EXPECT_EQ(run.out, "exit 7\n") << mode << run.err;
    ASSERT_THAT(run.traces, SizeIs(2)) << mode;
    for (const std::string& path : run.traces) {
      const TraceContent trace = ReadTrace(path);
      const bool is_child = trace.info.at("role") != "main";
      EXPECT_EQ(trace.info.count("modules"), is_child ? 1u : 0u) << mode;
      if (is_child) {
        EXPECT_GT(trace.AllocsOfSize(100001), 100u) << mode;
      }
    }
  }
}

TEST(Processes, RanksAndEnvironmentAreRecorded) {
  TracedRun run =
      RunTraced({Program("churn"), "1"}, {.environment = {"RANK=3", "WORLD_SIZE=8", "MALLOC_ARENA_MAX=2"}});
  const TraceContent trace = ReadTrace(run.traces.at(0));
  EXPECT_EQ(trace.info.at("rank"), "3");
  EXPECT_EQ(trace.info.at("env:WORLD_SIZE"), "8");
  EXPECT_EQ(trace.info.at("env:MALLOC_ARENA_MAX"), "2");
  EXPECT_EQ(trace.info.at("role"), "main");
  EXPECT_EQ(trace.info.at("exe"), std::filesystem::canonical(Program("churn")));
  EXPECT_EQ(trace.info.at("cmdline"), Program("churn") + " 1");
}

}  // namespace
}  // namespace plateau::testing
