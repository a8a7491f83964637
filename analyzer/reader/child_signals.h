// Which children of a recorded process a signal ended, as the process that waited for them noted it. A process that is
// killed leaves no word of its own: its launcher knows whether it was the one that was killed or one of those that were
// stopped because of it.
//
// Errors are those of TraceReader::Open().
#ifndef PLATEAU_ANALYZER_READER_CHILD_SIGNALS_H_
#define PLATEAU_ANALYZER_READER_CHILD_SIGNALS_H_

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "analyzer/reader/trace_identity.h"

namespace plateau::reader {

// Each container has a process 12 whose parent is process 1.
struct ChildId {
  std::string machine;
  int64_t parent_pid = 0;
  int64_t pid = 0;
  auto operator<=>(const ChildId&) const = default;
};

// "host/pod": within it a process has its number alone.
std::string MachineOf(const TraceIdentity& identity);

using ChildSignals = std::map<ChildId, int>;

// One INFO record of the process `waiter` on `machine`: "child:4711" and "9". Others are passed over.
void AddChildSignal(const std::string& machine, int64_t waiter, std::string_view key, std::string_view value,
                    ChildSignals* signals);

// All that the process of this trace noted.
absl::Status ReadChildSignals(const std::string& path, const std::string& machine, ChildSignals* signals);

// "killed by SIGKILL"; "stopped by SIGTERM" for the signals that ask a program to end, as a launcher does.
std::string EndingBySignal(int signal);

}  // namespace plateau::reader

#endif  // PLATEAU_ANALYZER_READER_CHILD_SIGNALS_H_
