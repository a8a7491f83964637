// The marks of one process, collected in any order and put in the order of their times.
//
// Marks come from several sources at once (RecordFunction ranges, hooked C++ methods, the Python start-up
// hook, explicit calls) and from several threads; this is the raw material of StepClock and PhaseMap. Time is
// whatever the trace counts in (TSC ticks or nanoseconds): only its order and differences are used.
//
// Memory: 32 bytes a mark; names are kept once. kOp marks are not kept.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_MARK_LOG_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_MARK_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "preload/trace/record.h"

namespace plateau::series {

struct Mark {
  uint64_t time;
  // What the mark's source says: the stack node of its caller for ranges and hooks (0 = unknown), 1 or 0 for
  // kTrainMode, the caller's number for explicit marks; see docs/steps.md.
  uint64_t value;
  uint32_t stream;  // the thread
  uint32_t name;    // MarkLog::Name()
  trace::MarkKind kind;
  trace::MarkSource source;
};

class MarkLog {
 public:
  void Add(uint64_t time, uint32_t stream, const trace::MarkRecord& record) {
    Add(time, stream, record.kind, record.source, record.value, record.name);
  }
  void Add(uint64_t time, uint32_t stream, trace::MarkKind kind, trace::MarkSource source, uint64_t value,
           std::string_view name);

  // Sorts by time, keeping the order of arrival among equals. Call once after the last Add().
  void Finish();

  const std::vector<Mark>& marks() const { return marks_; }
  const std::string& Name(uint32_t name) const { return names_[name]; }
  bool empty() const { return marks_.empty(); }

 private:
  std::vector<Mark> marks_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> ids_;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_MARK_LOG_H_
