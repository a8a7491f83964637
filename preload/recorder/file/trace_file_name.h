// The name of a trace file, DIR/PROGRAM.PID.START.plt, and the empty file of that name.
//
//   directory   as in PLATEAU_OUT, with %h %r %j %p expanded (job_identity.h); made absolute, because the program may change
//               its directory later, and created with everything above it
//   PROGRAM     letters, digits and ._-+; any other character becomes _; at most 64 of them
//   START       microseconds since 1970; counted up while the name is taken
//
// The file has mode 0600. It is never opened through a link and never over an existing file.
//
// Allocates: never; texts lie in static memory, so one thread at a time may call. errno is not touched.
#ifndef PLATEAU_PRELOAD_RECORDER_FILE_TRACE_FILE_NAME_H_
#define PLATEAU_PRELOAD_RECORDER_FILE_TRACE_FILE_NAME_H_

#include <string_view>

namespace plateau {

struct CreatedFile {
  long fd = -1;                // or a negative error number
  const char* complaint = "";  // what could not be done, when `fd` is negative: "cannot create"
};

// Writes the path to `path_out`, also that of a file that could not be created.
CreatedFile CreateTraceFile(const char* directory_pattern, std::string_view program, char (*path_out)[4096]);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_FILE_TRACE_FILE_NAME_H_
