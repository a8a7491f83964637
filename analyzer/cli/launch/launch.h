// Starts the program that is to be recorded and stays out of its way.
//
// The program gets the terminal, the standard streams, the process group and the signals as if it had been
// started by the shell. Signals that reach only the launcher are passed on; Ctrl-C reaches the program by
// itself and the launcher waits for what it makes of it. The launcher never preloads the shim into itself.
#ifndef PLATEAU_ANALYZER_CLI_LAUNCH_LAUNCH_H_
#define PLATEAU_ANALYZER_CLI_LAUNCH_LAUNCH_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace plateau::cli {

struct Launch {
  std::vector<std::string> program;                              // as for execvp
  std::vector<std::pair<std::string, std::string>> environment;  // set in the program
  std::vector<std::string> preload;                              // put in front of what LD_PRELOAD has
  // Called several times a second while the program runs, with its number; empty: nobody looks, and the launcher sleeps.
  std::function<void(pid_t)> watch;
};

struct Ending {
  int exit_code = 0;  // as a shell would give it: 128 + signal when it was killed, 127 when it is missing,
                      // 126 when it cannot run
  int signal = 0;
  bool was_started = true;
  std::string reason;         // why it was not started
  std::string Words() const;  // "exit 3", "signal 9"
};

// Fails only when no process can be made.
absl::StatusOr<Ending> RunProgram(const Launch& launch);

// A file of the installed tree: `name` in ../lib beside this program. Empty when it is not there.
std::string FindLibrary(const std::string& name);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_LAUNCH_LAUNCH_H_
