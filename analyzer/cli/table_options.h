// Options of commands that print sites: how to group, sort, cut, filter and suppress.
#ifndef PLATEAU_ANALYZER_CLI_TABLE_OPTIONS_H_
#define PLATEAU_ANALYZER_CLI_TABLE_OPTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/cli/command.h"
#include "analyzer/report/site_listing.h"
#include "analyzer/report/suppressions.h"

namespace plateau::cli {

struct ParsedTable {
  report::TableOptions table;
  std::unique_ptr<report::Suppressions> suppressions;  // what table.suppressions points to
};

// --sort, --group, --top and the filters. `top` is the default of --top.
std::vector<Option> TableOptionList(const char* top);
absl::StatusOr<ParsedTable> ParseTableOptions(const Arguments& arguments, int64_t top);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_TABLE_OPTIONS_H_
