// One line on stderr when something went wrong, by a single write(2).
//
// Safe everywhere, also in signal handlers and forked children. Allocates: never. Silent after
// SetLogQuiet(true), and after kMaxLines lines, so that no failure can flood a log.
#ifndef PLATEAU_PRELOAD_BASE_RAW_LOG_H_
#define PLATEAU_PRELOAD_BASE_RAW_LOG_H_

#include <string_view>

namespace plateau {

// Remembers what stderr is. A program may close descriptor 2 and get a file of its own under that number; we
// write only to the file that was there at the start, or to a terminal.
void PrepareLog();

void SetLogQuiet(bool quiet);

// Writes "plateau: PID: TEXT\n" to stderr by one system call.
void RawLog(std::string_view text);

// What an error number means, in words.
std::string_view ErrorName(int error_number);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_RAW_LOG_H_
