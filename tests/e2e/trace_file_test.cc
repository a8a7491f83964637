// The trace as a file: who may read it, and what happens when it cannot be written.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/traced_run.h"

namespace plateau::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

int LinesOf(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

TEST(TraceFile, IsPrivateAndNamedByProgramAndProcess) {
  TracedRun run = RunTraced({Program("churn"), "1"});
  ASSERT_THAT(run.traces, SizeIs(1));
  EXPECT_THAT(fs::path(run.traces[0]).filename().string(),
              ::testing::MatchesRegex("churn\\." + std::to_string(run.pid) + "\\.[0-9]+\\.plt"));
  EXPECT_EQ(fs::status(run.traces[0]).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(TraceFile, DirectoryIsMadePrivate) {
  TracedRun parent = RunTraced({Program("churn"), "1"});
  const std::string nested = parent.directory + "/a/b";
  TracedRun run = RunTraced({Program("churn"), "1"}, {.directory = nested});
  EXPECT_THAT(run.traces, SizeIs(1));
  EXPECT_EQ(fs::status(nested).permissions(), fs::perms::owner_all);
}

TEST(TraceFile, UnwritableDirectoryCostsOneLineAndNothingElse) {
  // As root permissions do not bind, so the directory is one that cannot exist.
  TracedRun run = RunTraced({Program("churn"), "10"}, {.directory = "/proc/plateau-nowhere"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, "done\n");
  EXPECT_EQ(LinesOf(run.err), 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr("cannot create"));
  TracedRun quiet = RunTraced({Program("churn"), "10"},
                              {.environment = {"PLATEAU_QUIET=1"}, .directory = "/proc/plateau-nowhere"});
  EXPECT_EQ(quiet.err, "");
}

TEST(TraceFile, SymbolicLinkIsNotFollowed) {
  // The name cannot be guessed, so the directory itself is what an attacker could replace; the file is made
  // with O_EXCL and O_NOFOLLOW. Here: a second run in the same directory makes a second file.
  TracedRun run = RunTraced({Program("churn"), "1"});
  TracedRun again = RunTraced({Program("churn"), "1"}, {.directory = run.directory});
  EXPECT_THAT(again.traces, SizeIs(2));
}

TEST(TraceFile, FullDiskKeepsTheProgramRunningAndCountsTheLoss) {
  TracedRun base = RunTraced({Program("churn"), "1"});
  const std::string mount_point = base.directory + "/small";
  fs::create_directory(mount_point);
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=512k") != 0)
    GTEST_SKIP() << "cannot mount a tmpfs";
  {
    TracedRun run = RunTraced({Program("churn"), "3000"}, {.directory = mount_point});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.out, "done\n");
    EXPECT_EQ(LinesOf(run.err), 1) << run.err;
    EXPECT_THAT(run.err, HasSubstr("no space left"));
    ASSERT_THAT(run.traces, SizeIs(1));
    const TraceContent trace = ReadTrace(run.traces[0]);
    EXPECT_GT(trace.summary.dropped_events[static_cast<size_t>(trace::DropReason::kWrite)], 0u);
    EXPECT_GT(trace.summary.gap_blocks, 0u);
    EXPECT_GE(trace.summary.totals.alloc_calls, 300000u);
    // The last events are in the ring, and their stacks are known.
    std::vector<trace::AllocRecord> allocs;
    for (const TracedEvent& event : trace.events) {
      if (event.record.kind == trace::RecordKind::kAlloc) allocs.push_back(event.record.alloc);
    }
    int kept = 0;
    for (size_t i = allocs.size() - 6; i < allocs.size(); ++i) {
      kept += allocs[i].bytes == 10001 && allocs[i].stack != 0;
    }
    EXPECT_EQ(kept, 5);  // the sixth is the buffer of stdout
  }
  umount(mount_point.c_str());
}

TEST(TraceFile, DiskThatIsFullFromTheStartTurnsRecordingOff) {
  TracedRun base = RunTraced({Program("churn"), "1"});
  const std::string mount_point = base.directory + "/tiny";
  fs::create_directory(mount_point);
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=4k") != 0) GTEST_SKIP() << "cannot mount a tmpfs";
  {
    TracedRun run = RunTraced({Program("churn"), "100"}, {.directory = mount_point});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.out, "done\n");
    EXPECT_EQ(LinesOf(run.err), 1) << run.err;
  }
  umount(mount_point.c_str());
}

TEST(TraceFile, FileSizeLimitSendsNoSignal) {
  TracedRun run = RunTraced({"/bin/sh", "-c", "ulimit -f 1200; exec " + Program("churn") + " 3000"},
                            {.environment = {"PLATEAU_FOLLOW=0"}});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "done\n");
  EXPECT_EQ(LinesOf(run.err), 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr("ulimit -f"));
}

TEST(TraceFile, ProgramThatClosesEverythingKeepsItsFilesClean) {
  TracedRun base = RunTraced({Program("churn"), "1"});
  TracedRun run = RunTraced({Program("close_all"), base.directory + "/mine"});
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_EQ(run.out, "0 bytes\n");
  const TraceContent trace = ReadTrace(run.traces.at(0));
  EXPECT_EQ(trace.AllocsOfSize(10002), 100000u);
  EXPECT_EQ(trace.summary.gap_blocks, 0u);
}

TEST(TraceFile, ErrorLineGoesToStderrOrNowhere) {
  // Descriptor 2 is the program's own file when the disk is full: nothing of ours may be in it.
  TracedRun base = RunTraced({Program("churn"), "1"});
  const std::string mount_point = base.directory + "/small";
  fs::create_directory(mount_point);
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=512k") != 0)
    GTEST_SKIP() << "cannot mount a tmpfs";
  {
    const std::string mine = base.directory + "/mine";
    TracedRun run = RunTraced({Program("stolen_stderr"), mine}, {.directory = mount_point});
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_EQ(fs::file_size(mine), 0u);
  }
  umount(mount_point.c_str());
}

TEST(TraceFile, WithoutSharedMappingsBlocksAreBuffered) {
  TracedRun run = RunTraced({Program("deny_shared_mmap"), Program("churn"), "1000"});
  if (run.exit_code == 77) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::string path =
      run.traces.at(0).find("/churn.") != std::string::npos ? run.traces[0] : run.traces.at(1);
  const TraceContent trace = ReadTrace(path);
  EXPECT_EQ(trace.header.shared_ring, 0);
  EXPECT_EQ(trace.header.clean_exit, 1u);
  EXPECT_EQ(trace.LiveCountOfSize(10001), 5u);
  EXPECT_GE(trace.summary.totals.alloc_calls, 100005u);
  EXPECT_EQ(trace.unknown_frees, 0u);
}

TEST(TraceFile, SmallProcessesHaveSmallTraces) {
  TracedRun run = RunTraced({Program("churn"), "1"});
  struct stat info;
  ASSERT_EQ(stat(run.traces.at(0).c_str(), &info), 0);
  EXPECT_LE(info.st_blocks * 512, 128 * 1024);
}

TEST(TraceFile, SizeLimitIsKeptByCoarserSampling) {
  for (const char* mode : {"default", "exact"}) {
    TracedRun run =
        RunTraced({Program("churn"), "6000"},
                  {.mode = mode, .environment = {"PLATEAU_MAX_TRACE=2M", "PLATEAU_SAMPLE_BYTES=4096"}});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.err, "");
    EXPECT_LE(fs::file_size(run.traces.at(0)), 2u << 20) << mode;
    const TraceContent trace = ReadTrace(run.traces.at(0));
    EXPECT_GE(trace.CountOf(trace::RecordKind::kRate), 1u) << mode;
    EXPECT_GE(trace.summary.totals.alloc_calls, 600005u) << mode;
    if (std::string(mode) == "default") {
      EXPECT_EQ(trace.unknown_frees, 0u);
    }
  }
}

// In exact mode nothing remembers the blocks from before the limit made it a sample, so their frees must be told from
// those of younger blocks, which were most of the trace once and drove the sample to be coarser and coarser.
TEST(TraceFile, FreesOfBlocksThatWereNotChosenTakeNoRoom) {
  const TracedRun run = RunTraced({Program("long_run"), "4000", "500", "20001"},
                                  {.mode = "exact", .environment = {"PLATEAU_MAX_TRACE=8M"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  const TraceContent trace = ReadTrace(run.traces.at(0));
  EXPECT_EQ(trace.CountOf(trace::RecordKind::kRate), 1u);
  EXPECT_GT(trace.summary.totals.free_calls, 2000000u);
  EXPECT_LT(trace.summary.totals.recorded_frees, 1000000u);
  // What is as large as that is recorded in a sample too, and what was recorded is freed in the trace.
  EXPECT_EQ(trace.AllocsOfSize(20001), 40u);
  // A block that was forgotten is freed in the trace although it is not in it, but nothing that is kept is.
  std::set<uint64_t> kept;
  size_t freed = 0;
  for (const TracedEvent& event : trace.events) {
    const trace::Record& r = event.record;
    if (r.kind == trace::RecordKind::kAlloc && r.alloc.bytes == 20001) kept.insert(r.alloc.address);
    if (r.kind == trace::RecordKind::kFree) freed += kept.contains(r.free.address);
  }
  EXPECT_EQ(kept.size(), 40u);
  EXPECT_EQ(freed, 0u);
}

// Marks, threads and stacks grow with the run whatever the sampling does; the limit holds all the same.
TEST(TraceFile, SizeLimitHoldsForAnyLength) {
  TracedRun run =
      RunTraced({Program("long_run"), "20000"},
                {.mode = "default", .environment = {"PLATEAU_MAX_TRACE=2M", "PLATEAU_SAMPLE_BYTES=1024"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_LE(fs::file_size(run.traces.at(0)), 2u << 20);
  const TraceContent trace = ReadTrace(run.traces.at(0));
  EXPECT_EQ(trace.header.clean_exit, 1u);
  EXPECT_FALSE(trace.summary.HasDamage());
  EXPECT_EQ(trace.unknown_frees, 0u);
  EXPECT_GE(trace.CountOf(trace::RecordKind::kRate), 4u);
  // The counters are exact whatever was recorded: 4 million blocks and what the C library took for itself.
  const uint64_t count = std::stoull(run.out);
  EXPECT_GE(trace.summary.totals.alloc_calls, count);
  EXPECT_LE(trace.summary.totals.alloc_calls, count + 2000);
  EXPECT_GE(trace.summary.totals.free_calls, count - 200);
}

// Beyond the limit nothing is written, so marks become rarer: the smallest limit there is, a mark every 200 blocks, and
// a sample so fine that it fills the trace long before the marks do.
TEST(TraceFile, MarksBecomeRarerInAFullTrace) {
  TracedRun run =
      RunTraced({Program("long_run"), "30000"},
                {.mode = "exact", .environment = {"PLATEAU_MAX_TRACE=1200K", "PLATEAU_SAMPLE_BYTES=1024"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_LE(fs::file_size(run.traces.at(0)), 1200u << 10);
  const TraceContent trace = ReadTrace(run.traces.at(0));
  EXPECT_GE(trace.summary.totals.alloc_calls, std::stoull(run.out));
  const size_t marks = trace.CountOf(trace::RecordKind::kMark);
  EXPECT_GT(marks, 500u);
  EXPECT_LT(marks, 10000u);
  EXPECT_LT(trace.header.dropped_events[static_cast<size_t>(trace::DropReason::kLimit)], 2000u);
  EXPECT_GE(trace.CountOf(trace::RecordKind::kFoldRow), 100u);
}

// The order of one thread needs no time stamps, so quick events get fewer than one in 32; as soon as there
// are two threads each has its own.
TEST(TraceFile, QuickEventsOfOneThreadShareTimeStamps) {
  const auto stamps_of = [](const std::vector<std::string>& command) {
    const TracedRun run = RunTraced(command, {.mode = "exact"});
    EXPECT_EQ(run.exit_code, 0);
    const TraceContent trace = ReadTrace(run.traces.at(0));
    struct {
      uint64_t events = 0;
      uint64_t stamps = 0;
      uint64_t close =
          0;  // less than 5 us after the one before; the clock is not measured yet when a program is short
    } count;
    uint64_t last = 0;
    for (const TracedEvent& event : trace.events) {
      const trace::Record& r = event.record;
      const bool is_small = r.kind == trace::RecordKind::kAlloc && r.alloc.bytes < 4096;
      if (is_small || r.kind == trace::RecordKind::kFree) {
        ++count.events;
        count.stamps += r.has_time;
        count.close += r.has_time && static_cast<double>(r.tsc - last) * trace.seconds_per_tick < 5e-6;
      }
      if (r.has_time || r.kind == trace::RecordKind::kTime) last = r.tsc;
    }
    return count;
  };
  const auto one = stamps_of({Program("fold_leak"), "300"});
  EXPECT_GT(one.events, 100'000u);
  EXPECT_LT(one.stamps, one.events / 8);  // more of them when the program has to wait
  EXPECT_EQ(one.close, 0u);
}

// What is freed in front of a mark belongs to the step that the mark ends, however close the two are.
TEST(TraceFile, AMarkIsLaterThanTheEventBeforeIt) {
  for (const char* mode : {"default", "exact"}) {
    const TracedRun run = RunTraced({Program("free_then_step"), "3000"}, {.mode = mode});
    EXPECT_EQ(run.exit_code, 0);
    uint64_t last_free = 0;
    int steps = 0;
    for (const TracedEvent& event : ReadTrace(run.traces.at(0)).events) {
      const trace::Record& r = event.record;
      if (r.kind == trace::RecordKind::kFree) last_free = r.tsc;
      if (r.kind != trace::RecordKind::kMark || r.mark.kind != trace::MarkKind::kExplicitStep) continue;
      ++steps;
      ASSERT_GT(r.tsc, last_free) << mode << ", step " << steps;
    }
    EXPECT_EQ(steps, 3000);
  }
}

TEST(TraceFile, OptionsThatMakeNoSenseGiveOneLineAndTheDefault) {
  TracedRun run =
      RunTraced({Program("churn"), "1"}, {.mode = "exact", .environment = {"PLATEAU_SAMPLE_BYTES=lots"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(LinesOf(run.err), 1);
  EXPECT_THAT(run.err, HasSubstr("PLATEAU_SAMPLE_BYTES=lots"));
  EXPECT_THAT(RunTraced({Program("churn"), "1"}, {.mode = "off"}).traces, IsEmpty());
}

}  // namespace
}  // namespace plateau::testing
