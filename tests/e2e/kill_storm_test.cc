// SIGKILL at random moments: what malloc had returned before the kill is in the trace.
//
// PLATEAU_KILLS sets the number of kills; 60 when it is not set, 1000 for a release.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "gtest/gtest.h"
#include "tests/support/traced_run.h"

namespace plateau::testing {
namespace {

class Counters {
 public:
  Counters() {
    char name[] = "/tmp/plateau-counters-XXXXXX";
    fd_ = mkstemp(name);
    path_ = name;
    EXPECT_EQ(ftruncate(fd_, 4096), 0);
    memory_ = static_cast<uint64_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
  }
  ~Counters() {
    munmap(memory_, 4096);
    close(fd_);
    unlink(path_.c_str());
  }
  void Reset() {
    for (int i = 0; i < 4; ++i) memory_[i] = 0;
  }
  uint64_t Sum() const { return memory_[0] + memory_[1] + memory_[2] + memory_[3]; }
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
  uint64_t* memory_;
};

void ExpectNothingLost(const TracedRun& run, uint64_t acknowledged) {
  const TraceContent trace = ReadTrace(run.TraceOf(run.pid));
  EXPECT_GE(trace.LiveCountOfSize(10001), acknowledged);
  EXPECT_LE(trace.LiveCountOfSize(10001), acknowledged + 4);  // recorded, not yet acknowledged
  EXPECT_EQ(trace.summary.gap_blocks, 0u);
  EXPECT_EQ(trace.summary.TotalDroppedEvents(), 0u);
  EXPECT_EQ(trace.header.clean_exit, 0u);
}

// Killed between the creation of its trace and the first page: nothing had been acknowledged then.
bool IsUnborn(const std::string& trace_path) {
  std::ifstream file(trace_path, std::ios::binary);
  char magic[8] = {};
  file.read(magic, sizeof(magic));
  return std::all_of(std::begin(magic), std::end(magic), [](char c) { return c == 0; });
}

// The whole analysis of a killed run, by the program users run.
void ExpectReportNamesTheSite(const TracedRun& run, uint64_t acknowledged) {
  const std::string command =
      std::string(PLATEAU_BINARY_DIR) + "/bin/plateau sites " + run.directory + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text(1 << 16, '\0');
  text.resize(fread(text.data(), 1, text.size(), pipe));
  EXPECT_EQ(pclose(pipe), 0) << text;
  if (acknowledged > 100) {
    EXPECT_NE(text.find("acknowledge.cc"), std::string::npos) << text;
  }
}

TEST(KillStorm, EverythingAcknowledgedIsInTheTrace) {
  const char* wanted = std::getenv("PLATEAU_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 60;
  Counters counters;
  std::mt19937 random(20240607);
  uint64_t total = 0;
  int unborn = 0;
  for (int i = 0; i < kills; ++i) {
    counters.Reset();
    const double delay = 0.004 + std::uniform_real_distribution<>(0, 0.12)(random);
    // Some kills come while the program starts; the others count from its first block, however long a busy
    // machine takes to get there.
    std::function<bool()> first_block;
    if (i % 4 != 0) first_block = [&] { return counters.Sum() > 0; };
    TracedRun run = RunTraced({Program("acknowledge"), counters.path()},
                              {.kill_after_seconds = delay, .kill_counts_from = first_block});
    EXPECT_EQ(run.exit_code, 128 + 9);
    if (run.traces.empty() || IsUnborn(run.TraceOf(run.pid))) {
      EXPECT_EQ(counters.Sum(), 0u);
      ++unborn;
      continue;
    }
    ExpectNothingLost(run, counters.Sum());
    if (i % 20 == 0) ExpectReportNamesTheSite(run, counters.Sum());
    total += counters.Sum();
    if (::testing::Test::HasFailure()) break;
  }
  std::printf("%d kills (%d before the first record), %llu acknowledged blocks\n", kills, unborn,
              static_cast<unsigned long long>(total));
  EXPECT_LE(unborn, (kills + 3) / 4);
  EXPECT_GT(total, static_cast<uint64_t>(kills));
}

// Writes `text` into a file of the cgroup file system.
bool Write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.flush();
  return file.good();
}

TEST(KillStorm, MemoryLimitKillLosesNothing) {
  std::string group;
  std::string limit_file;
  const std::string name = "plateau-test-" + std::to_string(getpid());  // two builds may be tested at once
  if (std::filesystem::exists("/sys/fs/cgroup/memory")) {
    group = "/sys/fs/cgroup/memory/" + name;
    limit_file = "/memory.limit_in_bytes";
  } else {
    group = "/sys/fs/cgroup/" + name;
    limit_file = "/memory.max";
  }
  std::error_code error;
  std::filesystem::create_directory(group, error);
  if (error || !Write(group + limit_file, "100000000")) GTEST_SKIP() << "no writable memory cgroup here";
  Write(group + "/memory.swap.max", "0");
  Counters counters;
  counters.Reset();
  // The shell enters the group and becomes the program, which fills the limit because its blocks are written.
  TracedRun run = RunTraced(
      {"/bin/sh", "-c",
       "echo $$ > " + group + "/cgroup.procs && exec " + Program("acknowledge") + " " + counters.path()},
      {.environment = {"PLATEAU_FOLLOW=0", "MALLOC_PERTURB_=1"}, .timeout_seconds = 60});
  rmdir(group.c_str());
  EXPECT_EQ(run.exit_code, 128 + 9);
  std::string trace_path;
  for (const std::string& path : run.traces) {
    if (path.find("/acknowledge.") != std::string::npos) trace_path = path;
  }
  ASSERT_FALSE(trace_path.empty());
  const TraceContent trace = ReadTrace(trace_path);
  EXPECT_GE(trace.LiveCountOfSize(10001), counters.Sum());
  EXPECT_GT(counters.Sum(), 1000u);
  EXPECT_EQ(trace.summary.gap_blocks, 0u);
}

}  // namespace
}  // namespace plateau::testing
