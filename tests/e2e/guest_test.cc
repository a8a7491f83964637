// Programs that lock themselves in, that lose their trace under their feet, or that start programs of another kind: each behaves
// as it does without us, and what was lost is said.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/traced_run.h"

namespace plateau::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::SizeIs;

uint64_t DroppedBySandbox(const TraceContent& trace) {
  return trace.summary.dropped_events[static_cast<size_t>(trace::DropReason::kSandbox)];
}

class Sandbox : public ::testing::TestWithParam<const char*> {};

TEST_P(Sandbox, NoCallOfOursEndsTheProgram) {
  const std::string way = GetParam();
  for (const char* mode : {"exact", "default"}) {
    const TracedRun plain = RunTraced({Program("sandbox"), way, "100"}, {.preload = false});
    const TracedRun run = RunTraced({Program("sandbox"), way, "100"}, {.mode = mode});
    ASSERT_EQ(plain.exit_code, 0) << way;
    EXPECT_EQ(run.exit_code, 0) << way << " " << run.err;
    EXPECT_EQ(run.out, "done\n");
    const TraceContent trace = ReadTrace(run.TraceOf(run.pid));
    EXPECT_EQ(DroppedBySandbox(trace), 0u) << "100 events fit into a slot";
    if (way == "tsc" || way == "errors") {
      EXPECT_EQ(run.err, "");
    } else {
      EXPECT_THAT(run.err, ContainsRegex("seccomp filter of the program forbids .* recorded up to 64 KiB"));
      EXPECT_THAT(trace.info.at("sandbox"), HasSubstr("seccomp"));
    }
    if (way == "child" || std::string(mode) == "default") continue;
    EXPECT_EQ(trace.AllocsOfSize(10007), 100u) << way;
    EXPECT_EQ(trace.LiveCountOfSize(10007), 1u) << way;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Sandbox,
                         ::testing::Values("strict", "filter", "seccomp", "errors", "bad", "child", "tsc"),
                         [](const auto& way) { return std::string(way.param); });

TEST(SandboxTest, WhatDoesNotFitIsCounted) {
  for (const char* way : {"strict", "filter", "seccomp"}) {
    const TracedRun run = RunTraced({Program("sandbox"), way, "100000"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const TraceContent trace = ReadTrace(run.TraceOf(run.pid));
    EXPECT_GT(trace.AllocsOfSize(10007), 5000u);
    EXPECT_GT(DroppedBySandbox(trace), 100000u) << way;
    // Every call is either an event of the trace or counted.
    EXPECT_GE(trace.summary.totals.alloc_calls, 100000u);
    const uint64_t missing = trace.summary.totals.recorded_allocs + trace.summary.totals.recorded_frees -
                             trace.allocs - trace.frees;
    EXPECT_LE(missing, DroppedBySandbox(trace)) << way;
    EXPECT_LE(DroppedBySandbox(trace), missing + 10) << "rows of the ledger are counted too";
    EXPECT_EQ(trace.summary.gap_blocks, 0u);
  }
}

TEST(SandboxTest, AFilterThatOnlyAnswersWithErrorsCostsNothing) {
  const TracedRun run = RunTraced({Program("sandbox"), "errors", "100000"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "done\n");
  const TraceContent trace = ReadTrace(run.TraceOf(run.pid));
  // Our calls fail there with an error number, which is what a lost block is counted by.
  EXPECT_EQ(DroppedBySandbox(trace), 0u);
}

TEST(CutTrace, IsNoBusErrorOfTheProgram) {
  for (const char* mode : {"exact", "default"}) {
    for (const char* way : {"plain", "threads", "handler", "query"}) {
      const TracedRun plain = RunTraced({Program("cut_trace"), way}, {.preload = false});
      const TracedRun run = RunTraced({Program("cut_trace"), way}, {.mode = mode});
      EXPECT_EQ(run.exit_code, 0) << way << " " << mode << run.err;
      EXPECT_EQ(run.exit_code, plain.exit_code);
      EXPECT_EQ(run.out, plain.out) << way;
      EXPECT_THAT(run.err, ContainsRegex("plt: the file was replaced or cut")) << way << " " << mode;
    }
  }
}

TEST(CutTrace, ABusErrorOfTheProgramsOwnEndsIt) {
  for (const char* way : {"own", "sent"}) {
    const TracedRun plain = RunTraced({Program("cut_trace"), way}, {.preload = false});
    const TracedRun run = RunTraced({Program("cut_trace"), way});
    EXPECT_EQ(plain.exit_code, 128 + 7) << way;
    EXPECT_EQ(run.exit_code, 128 + 7) << way;
    EXPECT_EQ(run.out, plain.out);
  }
}

TEST(Secrets, AreNotInTheTrace) {
  const std::vector<std::string> command = {Program("churn"), "1", "--api-key", "topsecret1",
                                            "https://me:topsecret2@host/"};
  const RunOptions environment = {.environment = {"PLATEAU_TOKEN=topsecret3"}};
  const TracedRun run = RunTraced(command, environment);
  const TraceContent trace = ReadTrace(run.traces.at(0));
  EXPECT_EQ(trace.info.at("cmdline"), Program("churn") + " 1 --api-key *** https://me:***@host/");
  EXPECT_EQ(trace.info.at("env:PLATEAU_TOKEN"), "***");
  std::stringstream bytes;
  bytes << std::ifstream(run.traces.at(0)).rdbuf();
  EXPECT_EQ(bytes.str().find("topsecret"), std::string::npos);
  const TracedRun kept = RunTraced(command, {.environment = {"PLATEAU_KEEP_ARGUMENTS=1"}});
  EXPECT_THAT(ReadTrace(kept.traces.at(0)).info.at("cmdline"), HasSubstr("--api-key topsecret1"));
}

class Foreign : public ::testing::TestWithParam<const char*> {};

TEST_P(Foreign, StartsWithoutTheShimAndSaysSo) {
  if (!fs::exists(Program("show_preload"))) GTEST_SKIP() << "not built for this processor";
  const std::string path = "PATH=" + fs::path(Program("x")).parent_path().string() + ":/usr/bin:/bin";
  const TracedRun run =
      RunTraced({"/usr/bin/env", path, Program("start_foreign"), GetParam(), Program("show_preload")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "preload=(none) a b\n");
  EXPECT_THAT(run.err, HasSubstr("is built for the C library musl: it is not recorded\n"));
  // Another library stays.
  const TracedRun other =
      RunTraced({"/usr/bin/env", path, Program("start_foreign"), GetParam(), Program("show_preload")},
                {.preload_behind = "libm.so.6"});
  EXPECT_EQ(other.out, "preload=libm.so.6 a b\n");
  // And a program of our own kind gets what it was given.
  const TracedRun same = RunTraced({Program("start_foreign"), GetParam(), "/usr/bin/env"});
  EXPECT_EQ(same.err.find("not recorded"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Ways, Foreign,
                         ::testing::Values("execve", "execv", "execvp", "execvpe", "execl", "execlp",
                                           "execle", "fexecve", "spawn", "spawnp"),
                         [](const auto& way) { return std::string(way.param); });

TEST(ForeignTest, ScriptsAndProgramsOfOtherKindsAreRecognised) {
  const TracedRun base = RunTraced({Program("churn"), "1"});
  const auto write = [&](const std::string& name, const std::string& content) {
    const std::string path = base.directory + "/" + name;
    std::ofstream(path) << content;
    chmod(path.c_str(), 0755);
    return path;
  };
  const std::string script = write("script", "#!" + Program("show_preload") + "\n");
  const TracedRun run = RunTraced({Program("start_foreign"), "execv", script});
  EXPECT_THAT(run.out, HasSubstr("preload=(none)"));
  EXPECT_THAT(run.err, HasSubstr("built for the C library musl"));
  // A file that begins like a 32-bit program: the kernel refuses it, and its error is the program's.
  const std::string old = write("old", std::string("\x7f"
                                                   "ELF\x01\x01\x01",
                                                   7) +
                                           std::string(200, '\0'));
  const TracedRun plain = RunTraced({Program("start_foreign"), "execv", old}, {.preload = false});
  const TracedRun refused = RunTraced({Program("start_foreign"), "execv", old});
  EXPECT_EQ(refused.out, plain.out);
  EXPECT_EQ(refused.exit_code, plain.exit_code);
  EXPECT_THAT(refused.err, HasSubstr("is a 32-bit program: it is not recorded"));
}

TEST(WaitTest, WhoWaitsForAKilledChildIsToldTheSame) {
  for (const char* mode : {"exact", "default"}) {
    const TracedRun plain = RunTraced({Program("wait_for_killed")}, {.preload = false});
    const TracedRun run = RunTraced({Program("wait_for_killed")}, {.mode = mode});
    ASSERT_EQ(plain.exit_code, 0) << plain.err;
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.out, plain.out);
    EXPECT_EQ(run.err, plain.err);
    const TraceContent trace = ReadTrace(run.TraceOf(run.pid));
    size_t terminated = 0, killed = 0;
    for (const auto& [key, value] : trace.info) {
      if (!key.starts_with("child:")) continue;
      terminated += value == "15" ? 1 : 0;
      killed += value == "9" ? 1 : 0;
    }
    // Those whose signal came while a hook ran are counted as lost.
    EXPECT_EQ(terminated, 2u);
    EXPECT_GT(killed, 4u);
    EXPECT_LE(killed + trace.summary.dropped_events[static_cast<size_t>(trace::DropReason::kReentrant)],
              104u);
    // The other ways to wait: once for each child that was taken, never for one that was looked at, stopped or over by itself.
    std::multiset<std::string> noted;
    for (const TracedEvent& event : trace.events) {
      const trace::Record& record = event.record;
      if (record.kind == trace::RecordKind::kInfo && record.info.key.starts_with("child:")) {
        noted.emplace(record.info.value);
      }
    }
    for (const char* signal : {"1", "2", "10", "12", "14", "13", "6"})
      EXPECT_EQ(noted.count(signal), 1u) << signal;
    for (const char* signal : {"0", "18", "19"}) EXPECT_EQ(noted.count(signal), 0u) << signal;
  }
}

TEST(WaitTest, AnotherLibrarysWaitIsLeftAlone) {
  const std::string other = Program("other_wait.so");
  const TracedRun plain =
      RunTraced({Program("call_other_wait")}, {.preload = false, .preload_behind = other});
  const TracedRun run = RunTraced({Program("call_other_wait")}, {.preload_behind = other});
  EXPECT_EQ(plain.out, "xyz xyz\n");
  EXPECT_EQ(run.out, plain.out);
  EXPECT_EQ(run.exit_code, 0);
}

}  // namespace
}  // namespace plateau::testing
