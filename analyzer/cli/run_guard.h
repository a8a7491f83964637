// Looks after a program while it runs: judges its recording now and then and acts when a condition is fulfilled, and ends the program
// before the kernel would. For runs at night, when nobody sees the verdict.
//
//   RunGuard guard(options);
//   RunProgram({..., .watch = [&](pid_t child) { guard.Look(child); }});
//   guard.Finish();
//
// Judging happens in a thread of the launcher, for at most a tenth of the time; the program is never stopped for it. Each condition acts
// once. A failure to act is said and changes nothing.
#ifndef PLATEAU_ANALYZER_CLI_RUN_GUARD_H_
#define PLATEAU_ANALYZER_CLI_RUN_GUARD_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/cli/arguments.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/launch/memory_room.h"
#include "analyzer/cli/live/conditions.h"
#include "analyzer/report/builder/build_report.h"

namespace plateau::cli {

struct GuardOptions {
  std::string directory;
  report::BuildOptions build;
  std::vector<Condition> conditions;
  std::string
      command;  // for sh -c; with PLATEAU_CONDITION, _VERDICT, _SUMMARY, _RECORDING and _PID in its environment
  int signal = 0;       // to the process that the verdict is about
  std::string webhook;  // gets the same as JSON, by curl
  double interval_seconds = 10;
  std::optional<double> stop_share;    // of the nearest limit
  std::optional<uint64_t> stop_bytes;  // of the program's resident memory
  double grace_seconds = 60;
  std::function<void(const std::string&)> say;

  bool IsIdle() const { return conditions.empty() && !stop_share && !stop_bytes; }
};

// The options of `run` that it understands, and what was said with them.
std::vector<Option> GuardOptionRows();
absl::StatusOr<GuardOptions> ParseGuard(const Arguments& arguments);

class RunGuard {
 public:
  explicit RunGuard(GuardOptions options);
  ~RunGuard() { Finish(); }

  // Several times a second, while the program runs.
  void Look(pid_t child);
  // The program has ended: the last judgement is waited for.
  void Finish();
  // "stopped before memory ran out", or "" when it was not.
  const std::string& stopped() const { return stopped_; }

 private:
  void JudgeNowAndThen();
  void Act(const Condition& condition, const report::ReportModel& model);
  void StopBeforeOom(pid_t child);

  const GuardOptions options_;
  const MemoryRoom room_;
  std::thread judge_;
  std::atomic<pid_t> child_{0};
  std::atomic<bool> has_ended_{false};
  double warned_at_ = 0;  // when SIGUSR1 was sent; 0: not yet
  bool has_terminated_ = false;
  std::string stopped_;
};

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_RUN_GUARD_H_
