// `plateau watch`: the card of a run that is still going on, drawn again and again.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/attach/attach_run.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/launch/launch.h"
#include "analyzer/cli/live/terminal_view.h"
#include "analyzer/cli/live/watch_screen.h"
#include "analyzer/cli/load_report.h"
#include "analyzer/cli/metrics/metrics_watch.h"
#include "analyzer/reader/recording.h"
#include "analyzer/report/site_listing.h"
#include "analyzer/report/text/card.h"
#include "analyzer/report/text/text_report.h"

namespace plateau::cli {
namespace {

std::string Screen(const report::ReportModel& model, bool color, int columns, int64_t top) {
  std::string out = report::WriteCard(model, {.color = color, .columns = std::min(columns, 160)});
  report::TableOptions table;
  table.top = static_cast<size_t>(top);
  table.sort = report::SortKey::kGrowth;
  absl::StrAppend(&out, "\n", report::WriteSiteTable(model, table, {.color = color, .columns = columns}));
  return out;
}

// The keys, as long a list as fits.
std::string HelpLine(const WatchState& state) {
  const std::string sort = absl::StrCat("s sort", state.shows_details ? "" : ", arrows choose");
  for (const std::string& text :
       {absl::StrCat(sort, ", Enter ", state.shows_details ? "back" : "details", ", p ",
                     state.is_paused ? "go on" : "pause", ", q ends the view, not the run"),
        std::string("s sort, Enter details, p pause, q ends the view"),
        std::string("s Enter p, q ends the view"), std::string("q ends the view")}) {
    if (static_cast<int>(text.size()) <= state.columns) return text;
  }
  return "q";
}

void Press(int key, const report::ReportModel& model, WatchState* state) {
  const size_t rows = RowsOf(model, *state).size();
  switch (key) {
    case 's':
      state->sort = NextSort(state->sort);
      state->chosen = 0;
      break;
    case 'p':
    case ' ':
      state->is_paused = !state->is_paused;
      break;
    case '\n':
      state->shows_details = !state->shows_details;
      break;
    case 0x1b:
      state->shows_details = false;
      break;
    case 'j':
    case TerminalView::kArrow + 'B':
      if (state->chosen + 1 < rows) ++state->chosen;
      break;
    case 'k':
    case TerminalView::kArrow + 'A':
      if (state->chosen > 0) --state->chosen;
      break;
    default:
      break;
  }
}

// A process that is attached to for as long as it is looked at.
class AttachedMeanwhile {
 public:
  ~AttachedMeanwhile() {
    if (pid_ == 0) return;
    const TargetProcess target(pid_);
    const absl::StatusOr<std::string> trace = FindAttachedTrace(target);
    const absl::Status status = trace.ok() ? Detach(target, *trace, kDetachMs) : absl::OkStatus();
    if (!status.ok()) absl::FPrintF(stderr, "plateau: %s\n", std::string(status.message()));
    absl::FPrintF(stderr, "plateau: `plateau report %s` shows it again\n", directory_);
  }

  // The directory of the recording.
  absl::StatusOr<std::string> Attach(const std::string& text) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(text, &pid) || pid <= 0)
      return absl::InvalidArgumentError(absl::StrCat("--pid=", text, ": not the number of a process"));
    AttachOptions options;
    options.library = FindLibrary("libplateau_attach.so");
    if (options.library.empty())
      return absl::InternalError("libplateau_attach.so is not in ../lib beside this program");
    PLATEAU_ASSIGN_OR_RETURN(const Attached attached, AttachTo(pid, options));
    pid_ = pid;
    directory_ = attached.place.outside;
    for (const std::string& sentence : Sentences(pid, attached))
      absl::FPrintF(stderr, "plateau: %s\n", sentence);
    return directory_;
  }

 private:
  static constexpr int kDetachMs = 10'000;
  pid_t pid_ = 0;
  std::string directory_;
};

// Output that is no terminal gets a screen per look.
template <typename Screen>
absl::StatusOr<int> WatchWithoutTerminal(const std::vector<std::string>& recordings,
                                         const report::BuildOptions& options, double interval,
                                         const Screen& screen) {
  TerminalView view;
  while (true) {
    const absl::StatusOr<reader::Recording> recording = reader::OpenRecording(recordings);
    const bool is_running = recording.ok() && recording->IsRunning();
    PLATEAU_ASSIGN_OR_RETURN(const report::ReportModel model, LoadReport(recordings, options));
    PLATEAU_RETURN_IF_ERROR(view.Draw(screen(model), ""));
    if (!is_running || view.Wait(interval) == TerminalView::Event::kQuit) return kExitOk;
  }
}

absl::StatusOr<int> RunWatch(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(report::BuildOptions options, ParseAnalysisOptions(arguments));
  PLATEAU_ASSIGN_OR_RETURN(const double interval, arguments.Number("interval", 2));
  PLATEAU_ASSIGN_OR_RETURN(const int64_t top, arguments.Integer("top", 8));
  if (!(interval >= 0.1)) return absl::InvalidArgumentError("--interval: must be 0.1 seconds or more");
  options.with_stacks = false;
  options.with_details = false;
  AttachedMeanwhile attached;
  std::vector<std::string> recordings = arguments.positional();
  if (arguments.Has("pid")) {
    if (!recordings.empty())
      return absl::InvalidArgumentError("--pid: the recording is a new one; name none");
    PLATEAU_ASSIGN_OR_RETURN(const std::string directory, attached.Attach(arguments.Value("pid")));
    recordings.push_back(directory);
  }
  if (recordings.empty()) return absl::InvalidArgumentError("watch needs a RECORDING, or --pid");
  if (arguments.Has("metrics")) {
    const auto is_running = [&] {
      const absl::StatusOr<reader::Recording> recording = reader::OpenRecording(recordings);
      return recording.ok() && recording->IsRunning() && !arguments.Has("once");
    };
    PLATEAU_RETURN_IF_ERROR(WatchMetrics({[&] { return LoadReport(recordings, options); }, is_running},
                                         arguments.Value("metrics"), interval));
    return kExitOk;
  }
  const bool color = WantsColor(STDOUT_FILENO);
  const auto screen = [&](const report::ReportModel& model) {
    return Screen(model, color, Columns(STDOUT_FILENO), top);
  };
  if (arguments.Has("once")) {
    PLATEAU_ASSIGN_OR_RETURN(const report::ReportModel model, LoadReport(recordings, options));
    PLATEAU_RETURN_IF_ERROR(WriteOutput("-", screen(model)));
    return kExitOk;
  }
  // Read once before the terminal is touched, so that a wrong name is an ordinary message.
  PLATEAU_ASSIGN_OR_RETURN(report::ReportModel model, LoadReport(recordings, options));
  if (isatty(STDOUT_FILENO) == 0) return WatchWithoutTerminal(recordings, options, interval, screen);
  {
    options.with_details = true;  // the curve and the stack of a chosen site
    options.named_sites = 100;
    TerminalView view;
    WatchState state;
    state.color = color;
    while (true) {
      // Asked before reading: what is written after the process was last seen alive is read in any case.
      const absl::StatusOr<reader::Recording> recording = reader::OpenRecording(recordings);
      const bool is_running = recording.ok() && recording->IsRunning();
      const absl::Time started = absl::Now();
      PLATEAU_ASSIGN_OR_RETURN(model, LoadReport(recordings, options));
      // Reading a long recording takes time too: never spend more than half of it on looking.
      double pause = std::max(interval, absl::ToDoubleSeconds(absl::Now() - started));
      state.is_running = is_running;
      bool is_over = false;
      while (!is_over) {
        state.columns = TerminalView::Columns();
        state.rows = TerminalView::Rows();
        PLATEAU_RETURN_IF_ERROR(view.Draw(absl::StrJoin(WatchScreen(model, state), "\n"), HelpLine(state)));
        if (!is_running) break;
        const TerminalView::Event event = view.Wait(state.is_paused ? 3600 : pause);
        if (event == TerminalView::Event::kQuit) return kExitOk;
        if (event == TerminalView::Event::kKey) {
          const bool was_paused = state.is_paused;
          Press(view.key(), model, &state);
          is_over = was_paused && !state.is_paused;
          // A key does not put the next look off for ever.
          pause = std::max(0.2, pause / 2);
        }
        is_over = is_over || event == TerminalView::Event::kTimeout;
      }
      if (!is_running) break;
    }
  }
  // The view is gone with its screen: what it found stays.
  PLATEAU_RETURN_IF_ERROR(WriteOutput("-", absl::StrCat(screen(model), "\nthe run has ended\n")));
  return kExitOk;
}

}  // namespace

const Command& WatchCommand() {
  static const Command command = {
      .name = "watch",
      .usage = "[RECORDING]...",
      .summary = "Show the verdict of a run that is still going on, and keep it up to date.",
      .description =
          "Fills the terminal with the headline, how sure it is by now, curves, ranks and the sites, and "
          "reads the "
          "recording again every few seconds. Keys: s sorts, arrows and Enter show a site, p pauses, q ends "
          "the view. Ends "
          "with the run, however that ends, and leaves the card. Works over ssh and in tmux.",
      .options = WithAnalysisOptions(
          {{.name = "interval",
            .letter = 'i',
            .value = "SECONDS",
            .help = "Time between two looks.",
            .default_value = "2"},
           {.name = "top", .letter = 'n', .value = "N", .help = "Sites to show.", .default_value = "8"},
           {.name = "once", .help = "Draw once and end."},
           {.name = "metrics",
            .value = "FILE|ADDR:PORT",
            .help = "Instead of drawing, write OpenMetrics to a file, or serve them at "
                    "http://ADDR:PORT/metrics until the "
                    "run ends; `:PORT` is this machine only.",
            .default_value = "a screen"},
           {.name = "pid",
            .letter = 'p',
            .value = "PID",
            .help = "Attach to this process and show what it does from now on; q detaches.",
            .default_value = "the RECORDING"}}),
      .examples = {{"plateau watch plateau-train-*/", "in a second terminal while the run goes on"},
                   {"plateau watch --pid 4711", "a program that was started without Plateau"},
                   {"plateau watch rec/ --metrics :9464", "for Prometheus, docs/fleet.md"}},
      .run = RunWatch};
  return command;
}

}  // namespace plateau::cli
