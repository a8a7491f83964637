#include "analyzer/cli/load_report.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/input_file.h"
#include "analyzer/base/output_file.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/reader/recording.h"
#include "analyzer/report/bundle/bundle.h"
#include "analyzer/report/json/json_report.h"

namespace plateau::cli {

std::vector<Option> AnalysisOptions() {
  return {
      {.name = "site",
       .value = "RULE",
       .help =
           "Which frame of a stack is its site: `user` (innermost frame of your code), `library` (innermost "
           "Python line, also of a library), `leaf` or `stack`.",
       .default_value = "user"},
      {.name = "epoch-steps",
       .value = "N",
       .help = "Steps of one pass over the data, when the recording cannot tell.",
       .default_value = "what the recording shows"},
      {.name = "planned-steps",
       .value = "N",
       .help = "How many steps the run is meant to have; forecasts look that far.",
       .default_value = "ten times what was seen"},
      {.name = "limit",
       .value = "BYTES",
       .help = "Memory the process may use, for the forecast.",
       .default_value = "the cgroup's or the machine's"},
      {.name = "sysroot",
       .value = "DIR",
       .help = "Folder in which the files of the traced system are, when it is another one: programs and "
               "libraries, "
               "debug files by build id, sources.",
       .default_value = "this system"}};
}

std::vector<Option> WithAnalysisOptions(std::vector<Option> own) {
  std::vector<Option> shared = AnalysisOptions();
  own.insert(own.end(), shared.begin(), shared.end());
  return own;
}

absl::StatusOr<report::BuildOptions> ParseAnalysisOptions(const Arguments& arguments) {
  report::BuildOptions options;
  const std::string rule_name = arguments.Value("site", "user");
  const auto rule = replay::ParseSiteRule(rule_name);
  if (!rule)
    return absl::InvalidArgumentError(absl::StrCat("--site=", rule_name, ": not one of user, leaf, stack"));
  options.process.site_rule = *rule;
  if (arguments.Has("epoch-steps")) {
    PLATEAU_ASSIGN_OR_RETURN(options.process.known.epoch_steps, arguments.Number("epoch-steps", 0));
    if (!(*options.process.known.epoch_steps > 0))
      return absl::InvalidArgumentError("--epoch-steps: must be above 0");
  }
  if (arguments.Has("planned-steps")) {
    PLATEAU_ASSIGN_OR_RETURN(options.process.known.planned_steps, arguments.Number("planned-steps", 0));
  }
  if (arguments.Has("limit")) {
    PLATEAU_ASSIGN_OR_RETURN(const uint64_t bytes, arguments.Bytes("limit", 0));
    options.process.known.limit_bytes = static_cast<double>(bytes);
  }
  if (arguments.Has("sysroot")) {
    const std::string folder = arguments.Value("sysroot", "");
    struct stat status;
    if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
      return absl::NotFoundError(absl::StrCat("--sysroot=", folder, ": no such folder"));
    options.sysroot = symbols::Sysroot(folder);
  }
  return options;
}

absl::StatusOr<report::ReportModel> LoadReport(const std::vector<std::string>& paths,
                                               const report::BuildOptions& options) {
  if (paths.size() == 1 && absl::EndsWith(paths[0], ".tar.zst")) {
    PLATEAU_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(paths[0]));
    const absl::StatusOr<std::string> json = report::JsonOfBundle(bytes);
    absl::StatusOr<report::ReportModel> model =
        json.ok() ? report::ReadJsonReport(*json) : absl::StatusOr<report::ReportModel>(json.status());
    if (!model.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(paths[0], ": ", std::string(model.status().message())));
    }
    return model;
  }
  if (paths.size() == 1 && absl::EndsWith(paths[0], ".json")) {
    PLATEAU_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(paths[0]));
    absl::StatusOr<report::ReportModel> model = report::ReadJsonReport(text);
    if (!model.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(paths[0], ": ", std::string(model.status().message())));
    }
    return model;
  }
  PLATEAU_ASSIGN_OR_RETURN(const std::vector<reader::Recording> runs, reader::OpenRuns(paths));
  if (runs.size() > 1) {
    const double between = (static_cast<double>(runs[1].traces.front().header.start_realtime_ns) -
                            static_cast<double>(reader::LastWriteRealtimeNs(runs[0]))) *
                           1e-9;
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s and %s are separate runs, the second began %s after the first had ended: give one of them, or "
        "compare them with `plateau diff`",
        runs[0].path, runs[1].path, FormatDuration(std::max(0.0, between))));
  }
  return report::BuildReport(runs.front(), options);
}

absl::Status WriteOutput(const std::string& path, const std::string& text) {
  if (path == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
      return absl::ErrnoToStatus(errno, "stdout");
    return absl::OkStatus();
  }
  return WriteWholeFile(path, text);
}

bool WantsColor(int fd) { return isatty(fd) == 1 && std::getenv("NO_COLOR") == nullptr; }

int CardColumns(int fd) { return isatty(fd) == 1 ? std::min(Columns(fd), 160) : 80; }

int Columns(int fd) {
  winsize size{};
  if (isatty(fd) == 1 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::clamp<int>(size.ws_col, 60, 200);
  return 100;
}

}  // namespace plateau::cli
