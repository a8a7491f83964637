// A table as the bytes of a Parquet file.
//
// One row group; a dictionary where values repeat, else plain values; pages under zstd. Nothing is written that a reader of
// Parquet 1.0 with zstd does not know: tests/e2e/columns_test.py reads the files with pyarrow and DuckDB. Pure, so that the
// same table gives the same bytes.
//
// Errors: ResourceExhausted when a column has more than a page can hold (2 GiB).
#ifndef PLATEAU_ANALYZER_REPORT_COLUMNS_PARQUET_FILE_H_
#define PLATEAU_ANALYZER_REPORT_COLUMNS_PARQUET_FILE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/report/columns/table.h"

namespace plateau::report {

// `metadata` becomes key-value pairs of the footer.
absl::StatusOr<std::string> ParquetOf(const Table& table,
                                      const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_COLUMNS_PARQUET_FILE_H_
