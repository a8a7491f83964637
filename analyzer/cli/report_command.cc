// `plateau report` and `plateau sites`: what a recording says.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/load_report.h"
#include "analyzer/cli/table_options.h"
#include "analyzer/reader/recording.h"
#include "analyzer/report/json/json_report.h"
#include "analyzer/report/page/html_report.h"
#include "analyzer/report/text/card.h"
#include "analyzer/report/text/text_report.h"

namespace plateau::cli {
namespace {

bool IsRecording(const std::string& path) {
  return !absl::EndsWith(path, ".json") && !absl::EndsWith(path, ".tar.zst");
}

// Which arguments make one report: those of one run.
absl::StatusOr<std::vector<std::vector<std::string>>> PathsOfRuns(const std::vector<std::string>& paths) {
  if (paths.size() == 1 || !absl::c_all_of(paths, IsRecording))
    return std::vector<std::vector<std::string>>{paths};
  PLATEAU_ASSIGN_OR_RETURN(const std::vector<reader::Recording> runs, reader::OpenRuns(paths));
  std::vector<std::vector<std::string>> paths_of_runs;
  paths_of_runs.reserve(runs.size());
  for (const reader::Recording& run : runs) paths_of_runs.push_back(run.paths);
  return paths_of_runs;
}

std::string TextOf(const Arguments& arguments, const report::ReportModel& model, size_t top) {
  const bool color = WantsColor(STDOUT_FILENO);
  const int columns = Columns(STDOUT_FILENO);
  std::string text = report::WriteCard(model, {.color = color, .columns = CardColumns(STDOUT_FILENO)});
  if (!arguments.Has("card")) {
    report::TableOptions table;
    table.top = top;
    absl::StrAppend(&text, "\n", report::WriteTextReport(model, table, {.color = color, .columns = columns}));
  }
  if (arguments.Has("tree")) {
    absl::StrAppend(&text, "\n", report::WriteCallTree(model, {}, {.color = color, .columns = columns}));
  }
  return text;
}

// Separate runs, a report each.
absl::StatusOr<int> ReportRuns(const Arguments& arguments, const report::BuildOptions& options, size_t top,
                               const std::vector<std::vector<std::string>>& runs) {
  for (size_t i = 0; i < runs.size(); ++i) {
    PLATEAU_ASSIGN_OR_RETURN(const report::ReportModel model, LoadReport(runs[i], options));
    PLATEAU_RETURN_IF_ERROR(
        WriteOutput("-", absl::StrFormat("%sRun %d of %d: %s\n\n%s", i == 0 ? "" : "\n", i + 1, runs.size(),
                                         absl::StrJoin(runs[i], " "), TextOf(arguments, model, top))));
  }
  return kExitOk;
}

absl::StatusOr<int> RunReport(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(report::BuildOptions options, ParseAnalysisOptions(arguments));
  PLATEAU_ASSIGN_OR_RETURN(const int64_t top, arguments.Integer("top", 20));
  const std::string json = arguments.Value("json"), html = arguments.Value("html");
  options.with_stacks = !html.empty() || arguments.Has("tree");
  options.with_details = !html.empty() || !json.empty();
  if (json.empty() && html.empty()) {
    PLATEAU_ASSIGN_OR_RETURN(const auto runs, PathsOfRuns(arguments.positional()));
    if (runs.size() > 1) return ReportRuns(arguments, options, static_cast<size_t>(top), runs);
  }
  PLATEAU_ASSIGN_OR_RETURN(const report::ReportModel model, LoadReport(arguments.positional(), options));
  if (!html.empty()) PLATEAU_RETURN_IF_ERROR(WriteOutput(html, report::WriteHtmlReport(model)));
  if (!json.empty()) {
    report::JsonOptions json_options;
    if (arguments.Has("top")) json_options.max_sites = static_cast<size_t>(top);
    std::string text = report::WriteJsonReport(model, json_options);
    PLATEAU_RETURN_IF_ERROR(WriteOutput(json, text += "\n"));
  }
  if (json == "-" || html == "-") return kExitOk;
  PLATEAU_RETURN_IF_ERROR(WriteOutput("-", TextOf(arguments, model, static_cast<size_t>(top))));
  if (!html.empty()) absl::FPrintF(stderr, "wrote %s\n", html);
  return kExitOk;
}

absl::StatusOr<int> RunSites(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(report::BuildOptions options, ParseAnalysisOptions(arguments));
  PLATEAU_ASSIGN_OR_RETURN(const ParsedTable parsed, ParseTableOptions(arguments, 40));
  options.with_stacks = false;
  PLATEAU_ASSIGN_OR_RETURN(const report::ReportModel model, LoadReport(arguments.positional(), options));
  PLATEAU_RETURN_IF_ERROR(WriteOutput(
      "-", report::WriteSiteTable(model, parsed.table,
                                  {.color = WantsColor(STDOUT_FILENO), .columns = Columns(STDOUT_FILENO)})));
  return kExitOk;
}

}  // namespace

const Command& ReportCommand() {
  static const Command command = {
      .name = "report",
      .usage = "RECORDING...",
      .summary = "Say what the memory of a recorded run does, why, and which lines hold it.",
      .description =
          "Prints the verdict card and the tables behind it. A recording is the directory `plateau run` "
          "made, a trace file in it, or "
          "several of them; a run that is still going on or was killed is read like any other. Recordings of "
          "one job, which ran at the same time, are read as one; separate runs get a report each. A report "
          "that "
          "was written with "
          "--json can be given instead.",
      .options = WithAnalysisOptions(
          {{.name = "json",
            .value = "FILE",
            .help = "Write the report as JSON (docs/report-json.md); `-` is standard output.",
            .default_value = "no JSON"},
           {.name = "html",
            .value = "FILE",
            .help = "Write the report as one HTML file.",
            .default_value = "no HTML"},
           {.name = "top", .letter = 'n', .value = "N", .help = "Sites to show.", .default_value = "20"},
           {.name = "tree", .help = "Print the call tree too."},
           {.name = "card", .help = "Print the card alone."}}),
      .examples = {{"plateau report plateau-train-20260101-120000/", "verdict card and tables"},
                   {"plateau report rec/ --html report.html", "a page to look at and to send around"},
                   {"plateau report rec/ --json - | jq .verdict", "for scripts"}},
      .min_positional = 1,
      .run = RunReport};
  return command;
}

const Command& SitesCommand() {
  static const Command command = {
      .name = "sites",
      .usage = "RECORDING...",
      .summary = "List the call sites of a recording.",
      .description =
          "Each line is a site: the innermost frame of your code (docs/sites.md). The last lines add up what "
          "is not shown, so "
          "that the table equals the total.",
      .options = WithAnalysisOptions(TableOptionList("40")),
      .examples = {{"plateau sites rec/ --sort growth", "what grows fastest"},
                   {"plateau sites rec/ --from-step 100 --path 'data/*.py'",
                    "what was born late, of these files"},
                   {"plateau sites rec/ --site leaf --top 10", "the functions that call the allocator"}},
      .min_positional = 1,
      .run = RunSites};
  return command;
}

}  // namespace plateau::cli
