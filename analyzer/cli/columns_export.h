// `plateau export -f parquet`: the ranks of recordings as a folder of tables.
#ifndef PLATEAU_ANALYZER_CLI_COLUMNS_EXPORT_H_
#define PLATEAU_ANALYZER_CLI_COLUMNS_EXPORT_H_

#include "absl/status/statusor.h"
#include "analyzer/cli/arguments.h"

namespace plateau::cli {

// Writes DIR/TABLE/job=JOB/node=HOST/KEY.parquet. A file appears whole or not at all, and a recording that is exported again
// replaces its files, so work that was interrupted is simply done again. A recording that cannot be read is a row with its
// reason and no error.
absl::StatusOr<int> ExportColumns(const Arguments& arguments);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_COLUMNS_EXPORT_H_
