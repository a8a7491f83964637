#include "analyzer/cli/attach/stopped_threads.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/base/status_macros.h"

namespace plateau::cli {

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

namespace {

// A thread that ends is listed for a while longer, the first one of a process until the others end, too. The kernel
// refuses such a thread with the error that it has for a lack of rights.
bool HasEnded(pid_t thread) {
  const std::string state = TargetProcess(thread).Status("State");
  return state.empty() || state[0] == 'Z' || state[0] == 'X';
}

}  // namespace

absl::Status StoppedThreads::Seize(pid_t thread) {
  if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
    const int error = errno;
    if (error == ESRCH || (error == EPERM && HasEnded(thread))) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat("ptrace: ", strerror(error)));
  }
  seized_.insert(thread);
  ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  return absl::OkStatus();
}

absl::Status StoppedThreads::Await(pid_t thread, uint64_t end_ns) {
  for (;;) {
    int status = 0;
    const pid_t got = waitpid(thread, &status, __WALL | WNOHANG);
    if (got < 0 || (got == thread && !WIFSTOPPED(status))) {
      seized_.erase(thread);  // it has ended
      return absl::OkStatus();
    }
    if (got == thread) {
      if (status >> 16 == PTRACE_EVENT_STOP) return absl::OkStatus();
      // A signal came first. It is handed over, and the stop comes after it.
      ptrace(PTRACE_CONT, thread, nullptr, reinterpret_cast<void*>(static_cast<long>(WSTOPSIG(status))));
      ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
      continue;
    }
    if (NowNs() > end_ns)
      return absl::DeadlineExceededError(
          absl::StrCat("thread ", thread, " does not stop; it waits in the kernel (state D)"));
    usleep(20);
  }
}

absl::Status StoppedThreads::Stop(int limit_ms) {
  const uint64_t end_ns = NowNs() + static_cast<uint64_t>(limit_ms) * 1'000'000u;
  const auto stop = [&]() -> absl::Status {
    // Threads start threads: until none is new.
    for (bool is_new = true; is_new;) {
      is_new = false;
      std::vector<pid_t> fresh;
      for (pid_t thread : target_.Threads()) {
        if (seized_.count(thread) == 0) fresh.push_back(thread);
      }
      for (pid_t thread : fresh) PLATEAU_RETURN_IF_ERROR(Seize(thread));
      for (pid_t thread : fresh) {
        if (seized_.count(thread) == 0) continue;
        is_new = true;
        PLATEAU_RETURN_IF_ERROR(Await(thread, end_ns));
      }
    }
    return seized_.empty() ? absl::NotFoundError("the process has ended") : absl::OkStatus();
  };
  absl::Status status = stop();
  if (!status.ok()) LetGo();
  return status;
}

void StoppedThreads::LetGo() {
  for (pid_t thread : seized_) {
    if (ptrace(PTRACE_DETACH, thread, nullptr, nullptr) == 0) continue;
    // One that has not stopped yet: a tracee can only be let go when it stands.
    int status = 0;
    if (errno == ESRCH && waitpid(thread, &status, __WALL | WNOHANG) == thread && WIFSTOPPED(status)) {
      const long signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
      ptrace(PTRACE_DETACH, thread, nullptr, reinterpret_cast<void*>(signal));
    }
  }
  seized_.clear();
}

}  // namespace plateau::cli
