// SIGKILL at random moments: what malloc had returned before the kill is in the trace, in every state that a process of ours has.
//
// PLATEAU_KILLS sets the number of kills of each case, 60 (of some cases 20) when it is not set; PLATEAU_KILL_SEED chooses other moments.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "gtest/gtest.h"
#include "tests/support/traced_run.h"

namespace plateau::testing {
namespace {

// The numbers that the program acknowledge counts in, see there.
class Counters {
 public:
  Counters() {
    char name[] = "/tmp/plateau-counters-XXXXXX";
    fd_ = mkstemp(name);
    path_ = name;
    EXPECT_EQ(ftruncate(fd_, kBytes), 0);
    memory_ = static_cast<uint64_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
  }
  ~Counters() {
    munmap(memory_, kBytes);
    close(fd_);
    unlink(path_.c_str());
  }
  void Reset() { std::fill_n(memory_, kBytes / sizeof(uint64_t), 0); }
  uint64_t Sum() const { return memory_[0] + memory_[1] + memory_[2] + memory_[3]; }
  // Calls take(pid, count) for each child.
  template <typename Take>
  void ForEachChild(Take take) const {
    for (size_t i = 8; i + 2 <= kBytes / sizeof(uint64_t) && memory_[i] != 0; i += 2)
      take(static_cast<int>(memory_[i]), memory_[i + 1]);
  }
  const std::string& path() const { return path_; }

 private:
  static constexpr size_t kBytes = 1 << 20;
  int fd_;
  std::string path_;
  uint64_t* memory_;
};

int NumberOfKills(int otherwise) {
  const char* wanted = std::getenv("PLATEAU_KILLS");
  return wanted != nullptr ? std::atoi(wanted) : otherwise;
}

std::mt19937 Random() {
  const char* seed = std::getenv("PLATEAU_KILL_SEED");
  return std::mt19937(seed != nullptr ? static_cast<unsigned>(std::atoi(seed)) : 20240607);
}

void ExpectNothingLost(const TracedRun& run, uint64_t acknowledged) {
  const TraceContent trace = ReadTrace(run.TraceOf(run.pid));
  EXPECT_GE(trace.LiveCountOfSize(10001), acknowledged);
  EXPECT_LE(trace.LiveCountOfSize(10001), acknowledged + 4);  // recorded, not yet acknowledged
  EXPECT_FALSE(trace.summary.HasDamage()) << ::testing::PrintToString(trace.summary.Sentences());
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

// Kills the program `acknowledge` again and again, and asks check(run, acknowledged) each time.
template <typename Check>
void Storm(const std::vector<std::string>& arguments, const std::vector<std::string>& environment, int kills,
           Check check) {
  Counters counters;
  std::mt19937 random = Random();
  uint64_t total = 0;
  int unborn = 0;
  std::vector<std::string> command = {Program("acknowledge"), counters.path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  for (int i = 0; i < kills && !::testing::Test::HasFailure(); ++i) {
    counters.Reset();
    const double delay = 0.004 + std::uniform_real_distribution<>(0, 0.12)(random);
    // Some kills come while the program starts; the others count from its first block, however long a busy
    // machine takes to get there.
    std::function<bool()> first_block;
    if (i % 4 != 0) first_block = [&] { return counters.Sum() > 0; };
    const TracedRun run = RunTraced(
        command, {.environment = environment, .kill_after_seconds = delay, .kill_counts_from = first_block});
    EXPECT_EQ(run.exit_code, 128 + 9);
    if (run.traces.empty() || IsUnborn(run.TraceOf(run.pid))) {
      EXPECT_EQ(counters.Sum(), 0u);
      ++unborn;
      continue;
    }
    check(run, counters);
    if (i % 20 == 0) ExpectReportNamesTheSite(run, counters.Sum());
    total += counters.Sum();
  }
  std::printf("%d kills (%d before the first record), %llu acknowledged blocks\n", kills, unborn,
              static_cast<unsigned long long>(total));
  EXPECT_LE(unborn, (kills + 3) / 4);
  EXPECT_GT(total, static_cast<uint64_t>(kills));
}

// Among them are ends of blocks: each thread fills one every few milliseconds.
TEST(KillStorm, EverythingAcknowledgedIsInTheTrace) {
  Storm({}, {}, NumberOfKills(60),
        [](const TracedRun& run, const Counters& counters) { ExpectNothingLost(run, counters.Sum()); });
}

TEST(KillStorm, WhileThreadsStartAndEnd) {
  Storm({"threads"}, {}, NumberOfKills(20),
        [](const TracedRun& run, const Counters& counters) { ExpectNothingLost(run, counters.Sum()); });
}

// The kill goes to the children too.
TEST(KillStorm, WhileChildrenAreForked) {
  uint64_t children = 0;
  Storm({"forks"}, {}, NumberOfKills(20), [&](const TracedRun& run, const Counters& counters) {
    ExpectNothingLost(run, counters.Sum());
    counters.ForEachChild([&](int pid, uint64_t count) {
      ++children;
      const std::string path = count > 0 ? run.TraceOf(pid) : "";
      if (path.empty()) return;
      const TraceContent trace = ReadTrace(path);
      EXPECT_GE(trace.LiveCountOfSize(10001), count) << path;
      EXPECT_LE(trace.LiveCountOfSize(10001), count + 1) << path;
      EXPECT_EQ(trace.summary.gap_blocks + trace.summary.TotalDroppedEvents(), 0u) << path;
    });
  });
  std::printf("%llu children\n", static_cast<unsigned long long>(children));
  EXPECT_GT(children, 0u);
}

// The trace is full after a few milliseconds: sampling becomes coarser and events end, while the counters stay exact.
TEST(KillStorm, WhileTheSizeLimitIsReached) {
  int changes = 0;
  Storm({}, {"PLATEAU_MAX_TRACE=1200K"}, NumberOfKills(20),
        [&](const TracedRun& run, const Counters& counters) {
          const TraceContent trace = ReadTrace(run.TraceOf(run.pid));
          EXPECT_FALSE(trace.summary.HasDamage()) << ::testing::PrintToString(trace.summary.Sentences());
          EXPECT_GE(trace.summary.totals.alloc_calls, counters.Sum());
          EXPECT_LE(std::filesystem::file_size(run.TraceOf(run.pid)), 1200u << 10);
          changes += trace.CountOf(trace::RecordKind::kRate) > 0;
        });
  std::printf("%d of them with coarser sampling\n", changes);
  EXPECT_GT(changes, 0);
}

pid_t StartPack(const std::string& directory) {
  const pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    dup2(null, 2);
    const std::string plateau = std::string(PLATEAU_BINARY_DIR) + "/bin/plateau";
    execl(plateau.c_str(), plateau.c_str(), "pack", directory.c_str(), nullptr);
    _exit(126);
  }
  return pid;
}

TEST(KillStorm, AKilledPackLeavesTheTraceAsItWas) {
  namespace fs = std::filesystem;
  using Seconds = std::chrono::duration<double>;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const TracedRun run = RunTraced({Program("fold_leak"), "1000"});
  const TraceContent original = ReadTrace(run.traces.at(0));
  const std::string copy = run.directory + "/copy";
  const std::string trace = copy + "/" + fs::path(run.traces.at(0)).filename().string();
  std::mt19937 random = Random();
  Seconds whole(0.05);
  int finished = 0, packed = 0;
  const int kills = NumberOfKills(20);
  for (int i = 0; i < kills && !HasFailure(); ++i) {
    fs::remove_all(copy);
    fs::create_directory(copy);
    fs::copy_file(run.traces.at(0), trace);
    const auto begin = now();
    const pid_t pid = StartPack(copy);
    if (i > 0) {  // the first one shows how long it takes
      std::this_thread::sleep_for(whole * std::uniform_real_distribution<>(0, 1.1)(random));
      kill(pid, SIGKILL);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (i == 0) whole = now() - begin;
    finished += WIFEXITED(status);
    const TraceContent after = ReadTrace(trace);
    EXPECT_EQ(after.allocs, original.allocs);
    EXPECT_EQ(after.frees, original.frees);
    EXPECT_EQ(after.live_bytes, original.live_bytes);
    EXPECT_FALSE(after.summary.HasDamage());
    packed += fs::file_size(trace) < fs::file_size(run.traces.at(0));
  }
  // What a killed one left does not keep the next one from its work.
  int status = 0;
  waitpid(StartPack(copy), &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(copy), fs::directory_iterator()), 1);
  std::printf("%d packs, %d finished before the kill, %d traces packed\n", kills, finished, packed);
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
