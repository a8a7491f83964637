// A memory log that is a table: rows of cells, and what its columns are called.
//
// Cells are separated by commas, semicolons, tabs or blanks, whichever the first line has; cells in quotes may
// hold separators. A name row is one without a number; psrecord's begins with '#' and has names of several words.
// A name row that comes again (ps in a loop) is no data. Pure.
#ifndef PLATEAU_ANALYZER_VERDICT_CASES_LOG_TABLE_H_
#define PLATEAU_ANALYZER_VERDICT_CASES_LOG_TABLE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/verdict/cases/memory_log.h"

namespace plateau::verdict {

struct LogRow {
  int line = 0;  // from 1
  std::string text;
  std::vector<std::string> cells;
  bool is_header = false;  // the names again
};

struct LogTable {
  bool is_table = false;           // at least half of the rows have a number in each of two columns
  std::vector<std::string> names;  // empty: none were given
  std::vector<LogRow> rows;
};

LogTable SplitTable(std::string_view text);

// Where the memory is, and where the step or the time.
struct LogColumns {
  size_t memory = 0;
  std::string memory_name;
  double unit_bytes = 1;
  bool is_unit_known = true;    // neither the name nor the caller said it: bytes are assumed
  std::optional<size_t> place;  // empty: the rows are samples
  std::string unit;             // "step", "second" or "sample"
};

// The message of a failure says which names there are and what is wrong with them.
absl::StatusOr<LogColumns> FindColumns(const LogTable& table, const LogOptions& options);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_CASES_LOG_TABLE_H_
