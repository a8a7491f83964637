// `plateau bundle`: a recording as one file for a bug report.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/load_report.h"
#include "analyzer/reader/recording.h"
#include "analyzer/report/bundle/bundle.h"
#include "analyzer/report/json/json_report.h"
#include "analyzer/report/page/html_report.h"
#include "analyzer/report/text/card.h"

namespace plateau::cli {
namespace {

// rec/ -> rec.tar.zst, beside it.
std::string DefaultOutput(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return absl::StrCat(path, ".tar.zst");
}

report::BundleWriters Writers() {
  report::JsonOptions json;
  json.include_stacks = true;
  json.indent = -1;
  return {.card = [](const report::ReportModel& model) { return report::WriteCard(model); },
          .json = [json](const report::ReportModel& model) { return report::WriteJsonReport(model, json); },
          .page = [](const report::ReportModel& model) { return report::WriteHtmlReport(model); }};
}

absl::StatusOr<int> RunBundle(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(report::BuildOptions options, ParseAnalysisOptions(arguments));
  options.with_stacks = true;
  report::BundleOptions bundle_options;
  bundle_options.anonymize = arguments.Has("anonymize");
  bundle_options.with_traces = !arguments.Has("no-traces");
  bundle_options.secrets = report::NamesOfThisMachine();
  for (const std::string& word : arguments.Values("secret")) bundle_options.secrets.push_back(word);
  PLATEAU_ASSIGN_OR_RETURN(const report::ReportModel model, LoadReport(arguments.positional(), options));
  // Host names of the recording are as secret as this machine's.
  for (const auto& [key, value] : model.recording.environment) {
    if (key == "host" || key == "user") bundle_options.secrets.push_back(value);
  }
  if (bundle_options.with_traces && !bundle_options.anonymize) {
    absl::StatusOr<reader::Recording> recording = reader::OpenRecording(arguments.positional());
    if (recording.ok()) {  // a report in JSON has no traces
      for (const reader::TraceFile& trace : recording->traces)
        bundle_options.trace_paths.push_back(trace.path);
    }
  }
  PLATEAU_ASSIGN_OR_RETURN(const report::Bundle bundle, report::MakeBundle(model, Writers(), bundle_options));
  const std::string output = arguments.Value("output", DefaultOutput(arguments.positional()[0]));
  PLATEAU_RETURN_IF_ERROR(WriteOutput(output, bundle.archive));
  if (output != "-") {
    PLATEAU_RETURN_IF_ERROR(WriteOutput("-", bundle.markdown));
    absl::FPrintF(stderr, "wrote %s, %s; the text above is ready to paste\n", output,
                  FormatBytes(static_cast<double>(bundle.archive.size())));
  }
  return kExitOk;
}

}  // namespace

const Command& BundleCommand() {
  static const Command command = {
      .name = "bundle",
      .usage = "RECORDING...",
      .summary = "Pack a recording and its report into one file that opens anywhere.",
      .description =
          "Writes a tar.zst with the report, its page, the card and the traces, and prints Markdown that is "
          "ready to paste into an issue. "
          "Names are resolved before packing, so it opens on machines without the program: `plateau report "
          "FILE.tar.zst`.\n\n"
          "With --anonymize paths, functions, hosts and users become stand-ins, source lines and command "
          "lines go, and the traces "
          "are left out; when a name is still found, nothing is written.",
      .options = WithAnalysisOptions({{.name = "output",
                                       .letter = 'o',
                                       .value = "FILE",
                                       .help = "Where to.",
                                       .default_value = "RECORDING.tar.zst"},
                                      {.name = "anonymize", .help = "Replace paths and names by stand-ins."},
                                      {.name = "secret",
                                       .value = "WORD",
                                       .help = "Another word that must not occur.",
                                       .default_value = "user, host and home",
                                       .repeated = true},
                                      {.name = "no-traces", .help = "Leave the traces out."}}),
      .examples = {{"plateau bundle rec/", "rec.tar.zst, and the text for the issue"},
                   {"plateau bundle rec/ --anonymize -o share.tar.zst", "without names"}},
      .min_positional = 1,
      .run = RunBundle};
  return command;
}

}  // namespace plateau::cli
