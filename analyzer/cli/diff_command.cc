// `plateau diff`: what changed between two runs.
#include <unistd.h>

#include <string>

#include "analyzer/base/status_macros.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/load_report.h"
#include "analyzer/report/diff.h"

namespace plateau::cli {
namespace {

absl::StatusOr<int> RunDiff(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(report::BuildOptions options, ParseAnalysisOptions(arguments));
  PLATEAU_ASSIGN_OR_RETURN(const int64_t top, arguments.Integer("top", 20));
  options.with_stacks = false;
  PLATEAU_ASSIGN_OR_RETURN(const report::ReportModel before,
                           LoadReport({arguments.positional()[0]}, options));
  PLATEAU_ASSIGN_OR_RETURN(const report::ReportModel after, LoadReport({arguments.positional()[1]}, options));
  const report::ReportDiff diff = report::DiffReports(before, after);
  const std::string json = arguments.Value("json");
  if (!json.empty()) PLATEAU_RETURN_IF_ERROR(WriteOutput(json, report::WriteDiffJson(diff)));
  if (json == "-") return kExitOk;
  report::DiffTextOptions text;
  text.top = static_cast<size_t>(top);
  text.columns = Columns(STDOUT_FILENO);
  PLATEAU_RETURN_IF_ERROR(WriteOutput("-", report::WriteDiffText(diff, text)));
  return kExitOk;
}

}  // namespace

const Command& DiffCommand() {
  static const Command command = {
      .name = "diff",
      .usage = "BEFORE AFTER",
      .summary = "Say what changed between two runs, site by site.",
      .description =
          "Sites are paired by file and function, so moved lines do not matter. Changes add up to the change "
          "of the "
          "total. Either side may be a recording, a report written with --json, or a bundle.",
      .options = WithAnalysisOptions({{.name = "json",
                                       .value = "FILE",
                                       .help = "Write the difference as JSON; `-` is standard output.",
                                       .default_value = "no JSON"},
                                      {.name = "top",
                                       .letter = 'n',
                                       .value = "N",
                                       .help = "Sites to show; 0 for all.",
                                       .default_value = "20"}}),
      .examples = {{"plateau diff main/ branch/", "which lines hold more since the change"}},
      .min_positional = 2,
      .max_positional = 2,
      .run = RunDiff};
  return command;
}

}  // namespace plateau::cli
