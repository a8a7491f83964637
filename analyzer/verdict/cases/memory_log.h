// Memory logs as people have them, read into curves.
//
//   step,rss_mb              CSV with named columns in any order; comma, semicolon, tab or blanks between them;
//   10,5434                  also what psrecord, Weights & Biases and TensorBoard export
//   10,5434                  two columns without names: step and bytes
//   Step 40: 10,375 MB       lines of text with a step or a time, and a size with its unit
//   MEM 512.3 1794965488.08  mprof (memory_profiler)
//   Mem:  24103  4382 ...    the output of free, again and again
//
// Steps that begin anew begin another curve. Nothing is guessed: names that are not known, two columns that may
// both be meant, and text without a unit are refused with an example of what can be read; lines that were left
// out are counted. Input is bounded by the text itself. Pure.
#ifndef PLATEAU_ANALYZER_VERDICT_CASES_MEMORY_LOG_H_
#define PLATEAU_ANALYZER_VERDICT_CASES_MEMORY_LOG_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/series/process_series.h"

namespace plateau::verdict {

// What the user said about a log.
struct LogOptions {
  std::string column;                // the column with the memory; empty: found by its name
  std::optional<double> unit_bytes;  // of numbers whose unit the log does not say
};

struct MemoryLog {
  std::string format;  // "table", "lines", "mprof", "free"
  std::string unit;    // of `curve.step`: "step", "second" or "sample"
  std::string column;  // of a table: where the memory was read
  series::MemoryCurve curve;
  int lines_left_out = 0;  // not blank, not a comment, and not read
};

// Each curve has a point. `name` is for messages.
absl::StatusOr<std::vector<MemoryLog>> ReadMemoryLogs(std::string_view text, const std::string& name,
                                                      const LogOptions& options);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_CASES_MEMORY_LOG_H_
