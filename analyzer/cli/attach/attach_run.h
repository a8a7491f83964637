// Attaching to a process from its look to the sentence about it: what `plateau attach` and `plateau watch --pid` share.
#ifndef PLATEAU_ANALYZER_CLI_ATTACH_ATTACH_RUN_H_
#define PLATEAU_ANALYZER_CLI_ATTACH_ATTACH_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "analyzer/cli/attach/attached_recording.h"
#include "analyzer/cli/attach/injector.h"

namespace plateau::cli {

struct AttachOptions {
  std::string library;  // libplateau_attach.so
  std::string out;      // empty: a new directory
  bool is_exact = false;
  bool may_stop_threads = true;
  bool use_memory_file = false;
  bool trust_filter = false;  // do not refuse a process whose seccomp filter cannot be read
  uint64_t end_after_ms = 0, end_after_steps = 0;
  int wait_ms = 10'000;
};

struct Attached {
  RecordingPlace place;
  Injection injection;
  std::string name;             // of the process
  uint64_t resident_bytes = 0;  // before
};

// Refusals are FailedPrecondition or PermissionDenied, with the reason; the process is then untouched.
absl::StatusOr<Attached> AttachTo(pid_t pid, const AttachOptions& options);

// "attached to python train.py (pid 4711) in 41 ms; it stood still for 1 ms; recording in DIR/", and what else is to be said.
std::vector<std::string> Sentences(pid_t pid, const Attached& attached);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_ATTACH_ATTACH_RUN_H_
