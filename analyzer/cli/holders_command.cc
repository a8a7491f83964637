// `plateau holders`: asks the processes of a running program who holds what stays, waits, and prints the answer.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/load_report.h"
#include "analyzer/reader/recording.h"
#include "analyzer/report/text/holders_text.h"
#include "preload/trace/format.h"

namespace plateau::cli {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(100);

// One word in the header of a trace is written by us, the other by the process when it has answered.
class Question {
 public:
  explicit Question(std::string path, uint32_t pid) : path_(std::move(path)), pid_(pid) {}

  uint32_t pid() const { return pid_; }
  bool is_answered() const { return is_answered_; }

  absl::Status Ask() {
    const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return absl::ErrnoToStatus(errno, path_);
    const bool has_read = ReadWord(fd, offsetof(trace::FileHeader, holder_request), &number_);
    ++number_;
    const bool has_written =
        has_read &&
        pwrite(fd, &number_, sizeof(number_), offsetof(trace::FileHeader, holder_request)) == sizeof(number_);
    close(fd);
    if (!has_written) return absl::UnavailableError(absl::StrCat(path_, ": the question cannot be written"));
    return absl::OkStatus();
  }

  void Look() {
    const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    uint64_t answered = 0;
    if (fd < 0) return;
    if (ReadWord(fd, offsetof(trace::FileHeader, holder_answer), &answered))
      is_answered_ = answered == number_;
    close(fd);
  }

 private:
  static bool ReadWord(int fd, size_t offset, uint64_t* word) {
    return pread(fd, word, sizeof(*word), static_cast<off_t>(offset)) == sizeof(*word);
  }

  std::string path_;
  uint32_t pid_;
  uint64_t number_ = 0;
  bool is_answered_ = false;
};

absl::StatusOr<int> RunHolders(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(report::BuildOptions options, ParseAnalysisOptions(arguments));
  PLATEAU_ASSIGN_OR_RETURN(const double wait, arguments.Number("wait", 30));
  PLATEAU_ASSIGN_OR_RETURN(const int64_t top, arguments.Integer("top", 10));
  PLATEAU_ASSIGN_OR_RETURN(const int64_t row, arguments.Integer("row", 0));
  if (!(wait >= 0)) return absl::InvalidArgumentError("--wait: must be 0 seconds or more");
  if (top < 0 || row < 0) return absl::InvalidArgumentError("--top, --row: must be 0 or more");
  PLATEAU_ASSIGN_OR_RETURN(const reader::Recording recording, reader::OpenRecording(arguments.positional()));
  std::vector<Question> questions;
  for (const reader::TraceFile& trace : recording.traces) {
    if (!reader::IsRunning(trace.header)) continue;
    questions.emplace_back(trace.path, trace.header.pid);
    PLATEAU_RETURN_IF_ERROR(questions.back().Ask());
  }
  const absl::Time end = absl::Now() + absl::Seconds(wait);
  const auto is_answered = [](const Question& question) { return question.is_answered(); };
  while (!std::all_of(questions.begin(), questions.end(), is_answered) && absl::Now() < end) {
    absl::SleepFor(kPause);
    for (Question& question : questions) question.Look();
  }
  std::string text;
  if (questions.empty())
    absl::StrAppend(&text, "The program has ended; these are the looks it made itself.\n");
  for (const Question& question : questions) {
    if (question.is_answered()) continue;
    absl::StrAppendFormat(
        &text,
        "Process %d has not answered in %.3g s: its main thread ran no Python code, or it is no "
        "CPython 3.8 to 3.14. An answer that comes later is in the recording.\n",
        question.pid(), wait);
  }
  PLATEAU_ASSIGN_OR_RETURN(report::ReportModel model, LoadReport(arguments.positional(), options));
  if (row > 0) {
    if (static_cast<size_t>(row) > model.sites.size())
      return absl::InvalidArgumentError(absl::StrCat("--row: there are ", model.sites.size(), " sites"));
    model.sites = {model.sites[static_cast<size_t>(row) - 1]};
  }
  const std::string holders =
      report::WriteHolders(model, {.color = WantsColor(STDOUT_FILENO), .columns = CardColumns(STDOUT_FILENO)},
                           static_cast<size_t>(top));
  absl::StrAppend(&text, holders.empty() ? "Nobody has looked for holders in this recording.\n" : holders);
  PLATEAU_RETURN_IF_ERROR(WriteOutput("-", text));
  return kExitOk;
}

}  // namespace

const Command& HoldersCommand() {
  static const Command command = {
      .name = "holders",
      .usage = "RECORDING...",
      .summary = "Ask a running program which references keep the bytes alive, and print the paths.",
      .description =
          "The processes of the recording that still run are asked, whether they look by themselves or not "
          "(run --no-holders). Each answers within about a second, between two bytecodes of its main thread. "
          "Of a program that has ended the looks it made itself are printed.",
      .options = WithAnalysisOptions({{.name = "row",
                                       .value = "N",
                                       .help = "Only the site in this row of `plateau sites`.",
                                       .default_value = "all of them"},
                                      {.name = "top",
                                       .letter = 'n',
                                       .value = "N",
                                       .help = "Sites to show; 0 for all.",
                                       .default_value = "10"},
                                      {.name = "wait",
                                       .value = "SECONDS",
                                       .help = "How long to wait for the answers.",
                                       .default_value = "30"}}),
      .examples = {{"plateau holders plateau-train-*/", "who holds what has grown so far"}},
      .min_positional = 1,
      .run = RunHolders};
  return command;
}

}  // namespace plateau::cli
