// `plateau watch`: the card of a run that is still going on, drawn again and again.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/load_report.h"
#include "analyzer/reader/recording.h"
#include "analyzer/report/card.h"
#include "analyzer/report/site_table.h"
#include "analyzer/report/text_report.h"

namespace plateau::cli {
namespace {

volatile std::sig_atomic_t stop_asked = 0;

void OnInterrupt(int) { stop_asked = 1; }

std::string Screen(const report::ReportModel& model, bool terminal, int columns, int64_t top) {
  std::string out = report::WriteCard(model, {.color = terminal, .columns = std::min(columns, 100)});
  report::TableOptions table;
  table.top = static_cast<size_t>(top);
  table.sort = report::SortKey::kGrowth;
  absl::StrAppend(&out, "\n", report::WriteSiteTable(model, table, {.color = terminal, .columns = columns}));
  return out;
}

absl::StatusOr<int> RunWatch(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(report::BuildOptions options, ParseAnalysisOptions(arguments));
  PLATEAU_ASSIGN_OR_RETURN(const double interval, arguments.Number("interval", 2));
  PLATEAU_ASSIGN_OR_RETURN(const int64_t top, arguments.Integer("top", 8));
  if (!(interval >= 0.1)) return absl::InvalidArgumentError("--interval: must be 0.1 seconds or more");
  options.with_stacks = false;
  const bool terminal = WantsColor(STDOUT_FILENO);
  const bool once = arguments.Has("once");
  std::signal(SIGINT, OnInterrupt);
  while (true) {
    const std::time_t started = std::time(nullptr);
    const absl::StatusOr<reader::Recording> recording = reader::OpenRecording(arguments.positional());
    const bool open_end = recording.ok() && recording->HasOpenEnd();
    absl::StatusOr<report::ReportModel> model = LoadReport(arguments.positional(), options);
    if (!model.ok()) return model.status();
    // Home and clear below, rather than clear and draw: no flicker.
    std::string screen = terminal ? "\x1b[H\x1b[J" : "";
    absl::StrAppend(&screen, Screen(*model, terminal, Columns(STDOUT_FILENO), top));
    if (terminal && open_end && !once) {
      absl::StrAppendFormat(&screen, "\nevery %g s; Ctrl-C ends the view, not the run\n", interval);
    }
    PLATEAU_RETURN_IF_ERROR(WriteOutput("-", screen));
    std::fflush(stdout);
    if (once || !open_end || stop_asked != 0) return kExitOk;
    // Reading a long recording takes time too: never spend more than half of it on looking.
    const double spent = std::difftime(std::time(nullptr), started);
    const double pause = std::max(interval, spent);
    timespec wait = {static_cast<time_t>(pause),
                     static_cast<long>((pause - static_cast<double>(static_cast<time_t>(pause))) * 1e9)};
    nanosleep(&wait, nullptr);
    if (stop_asked != 0) return kExitOk;
  }
}

}  // namespace

const Command& WatchCommand() {
  static const Command command = {
      .name = "watch",
      .usage = "RECORDING...",
      .summary = "Show the verdict of a run that is still going on, and keep it up to date.",
      .description =
          "Reads the recording again every few seconds and draws the card and the sites that grow most. Ends "
          "with the run.",
      .options = WithAnalysisOptions(
          {{.name = "interval",
            .letter = 'i',
            .value = "SECONDS",
            .help = "Time between two looks.",
            .default_value = "2"},
           {.name = "top", .letter = 'n', .value = "N", .help = "Sites to show.", .default_value = "8"},
           {.name = "once", .help = "Draw once and end."}}),
      .examples = {{"plateau watch plateau-train-*/", "in a second terminal while the run goes on"}},
      .min_positional = 1,
      .run = RunWatch};
  return command;
}

}  // namespace plateau::cli
