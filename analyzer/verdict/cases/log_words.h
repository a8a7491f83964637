// Words of a memory log: numbers, sizes with a unit, times, and the names of columns. Pure; no allocation that
// the text does not bound.
#ifndef PLATEAU_ANALYZER_VERDICT_CASES_LOG_WORDS_H_
#define PLATEAU_ANALYZER_VERDICT_CASES_LOG_WORDS_H_

#include <optional>
#include <string_view>

namespace plateau::verdict {

// "10,375", "5434.5", "1e9"; commas between thousands are taken out. Finite numbers alone.
std::optional<double> ParseNumber(std::string_view word);

// Factor of "MB", "MiB", "M", "kB", "bytes"; a step of units is 1024, as memory is counted. Empty: no unit.
std::optional<double> ParseUnit(std::string_view word);

// Seconds of "1794965488.08", "01:31:30", "2026-11-18 01:31:30.5" or the same with a T. A time of day alone
// counts from midnight.
std::optional<double> ParseTime(std::string_view text);

enum class ColumnKind { kOther, kStep, kTime, kMemory };

struct ColumnMeaning {
  ColumnKind kind = ColumnKind::kOther;
  int rank = 0;                      // of kMemory: the smaller, the surer
  std::optional<double> unit_bytes;  // of kMemory, when the name says it
};

// By the words of a name: "global_step", "Wall time", "run-1 - system.proc.memory.rssMB", "Real (MB)".
ColumnMeaning MeaningOfColumn(std::string_view name);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_CASES_LOG_WORDS_H_
