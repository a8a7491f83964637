// From a process to the recording that an attach has begun in it, and back out.
#ifndef PLATEAU_ANALYZER_CLI_ATTACH_ATTACHED_RECORDING_H_
#define PLATEAU_ANALYZER_CLI_ATTACH_ATTACHED_RECORDING_H_

#include <string>

#include "absl/status/statusor.h"
#include "analyzer/cli/attach/suitability.h"
#include "analyzer/cli/attach/target_process.h"

namespace plateau::cli {

// Where a recording lies: as the process calls it, and as we do (through /proc/PID/root when its root is another).
struct RecordingPlace {
  std::string inside;
  std::string outside;
};

// Makes the directory of a new recording, in which the process's user can write. `wanted` empty: a new one here, or in
// /tmp of its root.
absl::StatusOr<RecordingPlace> MakePlace(const TargetProcess& target, const Suitability& found,
                                         const std::string& wanted);

// The trace that this process writes because it was attached to; NotFound when there is none.
absl::StatusOr<std::string> FindAttachedTrace(const TargetProcess& target);

// Asks the process to end its recording and waits until it has. DeadlineExceeded: it has not allocated meanwhile; the wish
// stays, and is met at its next allocation.
absl::Status Detach(const TargetProcess& target, const std::string& trace, int wait_ms);

// The pid and all its descendants when `with_children`, parents first.
std::vector<pid_t> ProcessTree(pid_t pid, bool with_children);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_ATTACH_ATTACHED_RECORDING_H_
