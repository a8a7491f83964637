// Who this process is: the INFO records at the beginning of its trace.
//
// Reads /proc and the environment. Allocates: never. errno is not touched.
#ifndef PLATEAU_PRELOAD_LEDGER_PROCESS_INFO_H_
#define PLATEAU_PRELOAD_LEDGER_PROCESS_INFO_H_

#include <string_view>

#include "preload/base/fixed_text.h"

namespace plateau {

using ProgramName = FixedText<256>;
// The file name of the executable, "python3.11".
ProgramName ReadProgramName();

// With PLATEAU_FOLLOW=0: whether this is the process that the variable was set for, or that process after an
// exec. The first one writes its pid into the variable ("0:PID"), in place, so that its children know.
bool FollowOnlyThisProcess(char** environment);

// Makes a relative PLATEAU_OUT absolute, in place: children may start elsewhere and belong to the same
// recording.
void PinDirectory(char** environment);

// Receives one INFO record.
struct InfoSink {
  void* context;
  void (*put)(void* context, std::string_view key, std::string_view value);
};

// Says exe, cmdline, cwd, parent, role, its place in a job (job_identity.h), and the environment that changes how
// memory behaves.
void DescribeProcess(bool is_forked_child, const InfoSink& sink);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_LEDGER_PROCESS_INFO_H_
