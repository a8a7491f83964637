// The traces that belong together: a recording directory, one trace file, or several of either.
//
// Traces are recognised by their first bytes, not by their names. They are opened one after the other by
// whoever works through them; a Recording itself is a list of names with the headers' facts. Errors:
// NotFound, FailedPrecondition (nothing in it is a trace), Unimplemented (all traces are of a newer version);
// each one line with the path.
#ifndef PLATEAU_ANALYZER_READER_RECORDING_H_
#define PLATEAU_ANALYZER_READER_RECORDING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "preload/trace/format.h"

namespace plateau::reader {

struct TraceFile {
  std::string path;
  trace::FileHeader header;
};

struct Recording {
  std::string path;                  // as given; of several, the first
  std::vector<std::string> paths;    // all of them
  std::vector<TraceFile> traces;     // by start time, parents before children
  std::vector<std::string> skipped;  // one sentence per trace that could not be taken
  std::string ending;  // how the launched program ended, when the launcher could say: "exit 0", "signal 9"

  // True when a process of it is still alive on this machine.
  bool IsRunning() const;
};

// Whether the process that writes a trace is still alive on this machine.
bool IsRunning(const trace::FileHeader& header);

// When the last of its processes wrote something, on the clock of the day; 0 when no header says so.
uint64_t LastWriteRealtimeNs(const Recording& recording);

// Where the launcher notes the ending, beside the traces.
inline constexpr char kEndingFile[] = "ending.txt";

// Behind the name of a trace whose packed form is being written.
inline constexpr char kPackingSuffix[] = ".packing";

absl::StatusOr<Recording> OpenRecording(const std::vector<std::string>& paths);

// The runs that the paths are of, in the order of their start. Paths belong to one run (the ranks of a job,
// the processes of a program) when they are files of one directory or when something of them ran at the same
// time; one that began after another had ended is another run.
absl::StatusOr<std::vector<Recording>> OpenRuns(const std::vector<std::string>& paths);

}  // namespace plateau::reader

#endif  // PLATEAU_ANALYZER_READER_RECORDING_H_
