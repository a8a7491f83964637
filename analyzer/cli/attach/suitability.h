// What speaks against attaching to a process, found out without touching it.
#ifndef PLATEAU_ANALYZER_CLI_ATTACH_SUITABILITY_H_
#define PLATEAU_ANALYZER_CLI_ATTACH_SUITABILITY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/cli/attach/target_process.h"

namespace plateau::cli {

struct Suitability {
  // Why it cannot be done, and what to do instead. Empty: nothing is known against it.
  std::vector<std::string> objections;
  // What is different from the usual, none of it in the way.
  std::vector<std::string> remarks;
  bool is_gone = false;
  bool has_other_root = false;     // paths mean other files there
  bool needs_memory_file = false;  // the library cannot be opened by its path
  bool has_filter = false;         // of system calls
  bool is_traced = false;          // by another process
};

// `library` is libplateau_attach.so.
Suitability LookAtProcess(TargetProcess& target, const std::string& library);

// Asks the kernel for the process's filters of system calls and what they would do to the calls of the library. Holds one
// thread for a moment. FailedPrecondition: a call would end the program. Unavailable: the kernel does not tell us.
absl::Status AskFilters(const TargetProcess& target);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_ATTACH_SUITABILITY_H_
