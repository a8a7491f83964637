// Runs a program with or without libplateau.so, and reads what it recorded.
//
//   TracedRun run = RunTraced({Program("fork_storm")}, {.mode = "exact"});
//   EXPECT_EQ(run.exit_code, 0);
//   TraceContent trace = ReadTrace(run.traces.at(0));
//
// Each run has a recording directory of its own, removed with the TracedRun.
#ifndef PLATEAU_TESTS_SUPPORT_TRACED_RUN_H_
#define PLATEAU_TESTS_SUPPORT_TRACED_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyzer/reader/read_summary.h"
#include "preload/trace/format.h"
#include "preload/trace/record.h"

namespace plateau::testing {

struct RunOptions {
  std::string mode = "exact";
  bool preload = true;
  std::vector<std::string> environment;    // more "NAME=value"
  std::string directory;                   // for the recording; a fresh one when empty
  std::string preload_behind;              // another library after libplateau.so
  double timeout_seconds = 60;             // then the run is killed and exit_code is -1
  double kill_after_seconds = 0;           // SIGKILL at this moment when not 0
  std::function<bool()> kill_counts_from;  // and that time begins when this is true; at once when not set
};

class TracedRun {
 public:
  TracedRun() = default;
  TracedRun(TracedRun&& other) noexcept { *this = std::move(other); }
  TracedRun& operator=(TracedRun&& other) noexcept;
  ~TracedRun();

  int exit_code = -1;  // 128 + signal when it was killed
  int pid = 0;
  std::string out;  // stdout
  std::string err;  // stderr
  std::string directory;
  std::vector<std::string> traces;  // sorted by name

  // The trace of process `pid`; a failure when there is not exactly one.
  std::string TraceOf(int process) const;

 private:
  friend TracedRun RunTraced(const std::vector<std::string>&, const RunOptions&);
  bool owns_directory_ = false;
};

TracedRun RunTraced(const std::vector<std::string>& command, const RunOptions& options = {});

// Paths of what was built: a program of tests/programs, the shim.
std::string Program(const std::string& name);
std::string ShimPath();

// One decoded event with its strings copied.
struct TracedEvent {
  uint32_t stream;
  trace::Record record;
};

struct TraceContent {
  trace::FileHeader header;
  reader::ReadSummary summary;
  std::vector<TracedEvent> events;           // stream by stream, in order; string views point into `text`
  std::map<std::string, std::string> info;   // the last value of each key
  std::map<uint64_t, uint64_t> live_bytes;   // address -> bytes, after replaying all streams
  std::map<uint64_t, uint32_t> live_stacks;  // address -> node
  double seconds_per_tick = 0;               // of the records' time stamps
  uint64_t allocs = 0;
  uint64_t frees = 0;
  uint64_t unknown_frees = 0;     // of blocks the trace does not know
  std::vector<std::string> text;  // payload copies

  // How many live blocks have this size.
  uint64_t LiveCountOfSize(uint64_t bytes) const;
  uint64_t CountOf(trace::RecordKind kind) const;
  uint64_t AllocsOfSize(uint64_t bytes) const;
};

TraceContent ReadTrace(const std::string& path);

}  // namespace plateau::testing

#endif  // PLATEAU_TESTS_SUPPORT_TRACED_RUN_H_
