// All threads of a process, held for a moment by ptrace.
//
//   StoppedThreads stopped(target);
//   if (absl::Status status = stopped.Stop(limit_ms); !status.ok()) ...   // everything runs again
//   ... write ...
//   stopped.LetGo();                                                      // also done by the destructor
//
// No register is changed. What a stop does to the program: epoll_wait() may return EINTR, as after any signal that is
// stopped and continued; other calls go on. When this process ends, the kernel lets all threads go.
#ifndef PLATEAU_ANALYZER_CLI_ATTACH_STOPPED_THREADS_H_
#define PLATEAU_ANALYZER_CLI_ATTACH_STOPPED_THREADS_H_

#include <set>

#include "absl/status/status.h"
#include "analyzer/cli/attach/target_process.h"

namespace plateau::cli {

class StoppedThreads {
 public:
  explicit StoppedThreads(const TargetProcess& target) : target_(target) {}
  ~StoppedThreads() { LetGo(); }
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  absl::Status Stop(int limit_ms);
  void LetGo();

 private:
  absl::Status Seize(pid_t thread);
  absl::Status Await(pid_t thread, uint64_t end_ns);

  const TargetProcess& target_;
  std::set<pid_t> seized_;
};

uint64_t NowNs();

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_ATTACH_STOPPED_THREADS_H_
