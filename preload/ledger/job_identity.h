// Which part of a job this process is: its rank, its job, its machine, as launchers and the system say it.
//
// Reads the environment, uname and two files of /proc. Allocates: never. errno is not touched. One thread at a time.
#ifndef PLATEAU_PRELOAD_LEDGER_JOB_IDENTITY_H_
#define PLATEAU_PRELOAD_LEDGER_JOB_IDENTITY_H_

#include <cstddef>
#include <string_view>

#include "preload/base/fixed_text.h"

namespace plateau {

// The value of a variable of the environment; nullptr when it is not set.
const char* EnvironmentVariable(std::string_view name);

// Variables of launchers and schedulers that are recorded as env:NAME when they are set.
extern const char* const kJobVariables[];
extern const size_t kJobVariableCount;

// The number of this process among those that train together, as its launcher says it; nullptr when none does.
const char* RankOfProcess();

// The job as its scheduler or launcher names it, nullptr when none does.
const char* JobOfProcess();

// The version of the program's code, nullptr when nobody said one.
const char* CodeVersionOfProcess();

using HostName = FixedText<72>;
HostName ReadHostName();

// The uid of the Kubernetes pod that this process runs in; empty when it runs in none.
using PodUid = FixedText<40>;
PodUid ReadPodUid();

// The pod uid in a line of /proc/self/cgroup or /proc/self/mountinfo, with dashes; empty when there is none.
PodUid PodUidIn(std::string_view text);

// Puts the place of this process into the name of a directory: %h is the host, %r the rank, %j the job, %p the process
// number, %% one percent sign. What is unknown reads "no-rank" and "no-job"; any other sign behind % stays as it is.
// The names are made of letters, digits and -._+; other signs become _.
void ExpandDirectory(const char* pattern, FixedText<4096>* out);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_LEDGER_JOB_IDENTITY_H_
