// `plateau export`: the numbers of a report for other programs.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/columns_export.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/load_report.h"
#include "analyzer/report/export/csv_export.h"
#include "analyzer/report/export/perfetto_export.h"
#include "analyzer/report/export/pprof_export.h"
#include "analyzer/report/export/sqlite_export.h"
#include "analyzer/report/export/stack_text_export.h"

namespace plateau::cli {
namespace {

absl::StatusOr<std::string> Exported(const Arguments& arguments, const report::ReportModel& model,
                                     const std::string& format) {
  if (format == "pprof") return report::WritePprof(model);
  if (format == "speedscope") return report::WriteSpeedscope(model);
  if (format == "perfetto") return report::WritePerfetto(model);
  if (format == "csv") return report::WriteCsv(model, arguments.Value("table", "sites"));
  if (format == "folded") {
    const std::string name = arguments.Value("metric", "retained");
    const auto metric = report::ParseStackMetric(name);
    if (!metric) {
      return NotOneOf("metric", name, {"retained", "growth", "peak", "temporary", "allocated"});
    }
    return report::WriteFolded(model, *metric);
  }
  return NotOneOf("format", format,
                  {"pprof", "folded", "speedscope", "perfetto", "csv", "sqlite", "parquet"});
}

absl::StatusOr<int> RunExport(const Arguments& arguments) {
  const std::string format = arguments.Value("format", "pprof");
  const std::string output = arguments.Value("output", "-");
  if (format == "parquet") return ExportColumns(arguments);
  PLATEAU_ASSIGN_OR_RETURN(report::BuildOptions options, ParseAnalysisOptions(arguments));
  options.with_stacks = true;
  options.max_stacks = 100000;
  if (format == "sqlite" && output == "-") {
    return absl::InvalidArgumentError("--format=sqlite: a database needs a file, pass -o FILE");
  }
  PLATEAU_ASSIGN_OR_RETURN(const report::ReportModel model, LoadReport(arguments.positional(), options));
  if (format == "sqlite") {
    PLATEAU_RETURN_IF_ERROR(report::WriteSqlite(model, output));
  } else {
    PLATEAU_ASSIGN_OR_RETURN(const std::string bytes, Exported(arguments, model, format));
    PLATEAU_RETURN_IF_ERROR(WriteOutput(output, bytes));
  }
  if (output != "-") absl::FPrintF(stderr, "wrote %s\n", output);
  return kExitOk;
}

}  // namespace

const Command& ExportCommand() {
  static const Command command = {
      .name = "export",
      .usage = "RECORDING...",
      .summary = "Write the numbers of a report for other programs.",
      .description =
          "Formats: pprof, folded, speedscope, perfetto, csv, sqlite, parquet (docs/exports.md). Totals are "
          "those of "
          "the report, to the byte. Parquet is a folder of tables with a row for each rank of a job, which "
          "`plateau fleet` and other engines read; each RECORDING is a recording of its own then.",
      .options = WithAnalysisOptions(
          {{.name = "format",
            .letter = 'f',
            .value = "NAME",
            .help = "What to write.",
            .default_value = "pprof"},
           {.name = "output",
            .letter = 'o',
            .value = "FILE",
            .help = "Where to; `-` is standard output. Of parquet: a folder.",
            .default_value = "-"},
           {.name = "metric",
            .value = "NAME",
            .help = "Of folded stacks: retained, growth, peak, temporary or allocated.",
            .default_value = "retained"},
           {.name = "table",
            .value = "NAME",
            .help = "Of CSV: sites, ledger, series, processes, hypotheses or holders.",
            .default_value = "sites"},
           {.name = "job",
            .value = "NAME",
            .help = "Of parquet: the job that the recordings are of.",
            .default_value = "what the recording says, else its name"},
           {.name = "failed",
            .value = "REASON",
            .help = "Of parquet: read nothing and write the row of a recording that could not be read.",
            .default_value = "the recording is read"}}),
      .examples = {{"plateau export rec/ -f pprof -o heap.pb.gz", "for `go tool pprof -http=: heap.pb.gz`"},
                   {"plateau export rec/ -f sqlite -o run.sqlite", "every number, to be queried"},
                   {"plateau export rec-*/ -f parquet -o columns",
                    "the ranks of a job, for `plateau fleet columns`"},
                   {"plateau export rec/ -f folded --metric growth",
                    "what grows, as flame graph scripts read it"}},
      .min_positional = 1,
      .run = RunExport};
  return command;
}

}  // namespace plateau::cli
