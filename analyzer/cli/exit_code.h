// The exit codes of `plateau`, which scripts rely on. `plateau run` returns the program's own code instead.
#ifndef PLATEAU_ANALYZER_CLI_EXIT_CODE_H_
#define PLATEAU_ANALYZER_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace plateau::cli {

enum ExitCode : int {
  kExitOk = 0,            // done
  kExitCheckFailed = 1,   // a rule of `plateau check` failed
  kExitUsage = 2,         // wrong usage
  kExitNoRecording = 3,   // the input is missing or is no recording
  kExitNewerVersion = 4,  // the recording was made by a newer version
  kExitIo = 5,            // reading or writing failed
};

// InvalidArgument is wrong usage; NotFound, FailedPrecondition and DataLoss are about the input;
// Unimplemented is a newer version; everything else is I/O.
ExitCode ExitCodeFor(const absl::Status& status);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_EXIT_CODE_H_
