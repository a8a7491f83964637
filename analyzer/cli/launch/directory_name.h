// The name of a recording directory in which the place of this process in its job is left open.
//
//   plateau run -o 'rec/%j/%h' -- python train.py        one directory for each host of a job
//
// The same signs as in PLATEAU_OUT (docs/options.md): %h is the host, %r the rank, %j the job, %p the process number, %%
// one percent sign. Reads the environment.
#ifndef PLATEAU_ANALYZER_CLI_LAUNCH_DIRECTORY_NAME_H_
#define PLATEAU_ANALYZER_CLI_LAUNCH_DIRECTORY_NAME_H_

#include <string>

namespace plateau::cli {

std::string ExpandDirectoryName(const std::string& pattern);

// The pattern that expands to `directory` itself.
std::string DirectoryPattern(const std::string& directory);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_LAUNCH_DIRECTORY_NAME_H_
