// From the arguments of a command to a report model: shared by every command that starts from a recording.
#ifndef PLATEAU_ANALYZER_CLI_LOAD_REPORT_H_
#define PLATEAU_ANALYZER_CLI_LOAD_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/cli/command.h"
#include "analyzer/report/builder/build_report.h"
#include "analyzer/report/report_model.h"

namespace plateau::cli {

// --site, --epoch-steps, --planned-steps, --limit: append them to a command's options.
std::vector<Option> AnalysisOptions();
std::vector<Option> WithAnalysisOptions(std::vector<Option> own);
absl::StatusOr<report::BuildOptions> ParseAnalysisOptions(const Arguments& arguments);

// The model of recordings of one run (directories or traces), of one report that was written as JSON, or of a
// bundle. Recordings of separate runs are InvalidArgument: added up they would look like growth.
absl::StatusOr<report::ReportModel> LoadReport(const std::vector<std::string>& paths,
                                               const report::BuildOptions& options);

// "-" is stdout. A file appears whole or not at all, private to its owner (analyzer/base/output_file.h).
absl::Status WriteOutput(const std::string& path, const std::string& text);

// Whether to colour what goes to this file descriptor: a terminal, and NO_COLOR is not set.
bool WantsColor(int fd);
// Width of the terminal, or 100.
int Columns(int fd);
// The width of a card: that of the terminal up to 160 columns, or 80.
int CardColumns(int fd);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_LOAD_REPORT_H_
