#include "analyzer/cli/run_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/launch/process_family.h"
#include "analyzer/reader/recording.h"

extern char** environ;

namespace plateau::cli {
namespace {

double Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Starts a program that nobody waits for; what it prints goes to stderr, so that the traced program's output stays its own.
std::string Start(const std::vector<std::string>& words, const std::vector<std::string>& more_environment) {
  std::vector<char*> argv, environment;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  for (const std::string& entry : more_environment) environment.push_back(const_cast<char*>(entry.c_str()));
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? "" : std::strerror(error);
}

// The process that the verdict is about, when it is one of the program's; else the program itself.
pid_t JudgedProcess(const report::ReportModel& model, pid_t child) {
  const std::vector<pid_t> family = FamilyOf(child);
  const report::Process* found = nullptr;
  for (const report::Process& process : model.processes) {
    if (process.verdict != model.verdict.name) continue;
    if (std::find(family.begin(), family.end(), static_cast<pid_t>(process.pid)) == family.end()) continue;
    if (found == nullptr || process.peak_bytes > found->peak_bytes) found = &process;
  }
  return found == nullptr ? child : static_cast<pid_t>(found->pid);
}

}  // namespace

std::vector<Option> GuardOptionRows() {
  return {
      {.name = "on",
       .value = "CONDITION",
       .help = "Act when this becomes true while the program runs: leak, growth (a leak or growth that "
               "nothing has ended), "
               "undecided-growth, or oom-soon[=STEPS] (100 without a number). May be given several times.",
       .default_value = "never",
       .repeated = true},
      {.name = "do",
       .value = "COMMAND",
       .help = "With --on: run this by the shell; PLATEAU_CONDITION, PLATEAU_VERDICT, PLATEAU_SUMMARY, "
               "PLATEAU_RECORDING and PLATEAU_PID say what happened.",
       .default_value = "nothing"},
      {.name = "signal",
       .value = "NAME",
       .help = "With --on: send this signal to the process, as USR1.",
       .default_value = "none"},
      {.name = "webhook",
       .value = "URL",
       .help = "With --on: post the verdict there as JSON (by curl).",
       .default_value = "nowhere"},
      {.name = "judge-every",
       .value = "SECONDS",
       .help = "With --on: time between two judgements; more when one takes longer than a tenth of it.",
       .default_value = "10"},
      {.name = "stop-before-oom",
       .value = "LIMIT",
       .help = "End the program when memory is this full, before the kernel does: SIGUSR1 to those of "
               "its processes "
               "that handle it, then SIGTERM to all. 95% of the nearest limit (cgroup or machine), or a "
               "size of its "
               "resident memory.",
       .default_value = "off"},
      {.name = "grace",
       .value = "SECONDS",
       .help = "With --stop-before-oom: time for a checkpoint between SIGUSR1 and SIGTERM.",
       .default_value = "60"}};
}

absl::StatusOr<GuardOptions> ParseGuard(const Arguments& arguments) {
  GuardOptions options;
  for (const std::string& text : arguments.Values("on")) {
    PLATEAU_ASSIGN_OR_RETURN(Condition condition, ParseCondition(text));
    options.conditions.push_back(std::move(condition));
  }
  options.command = arguments.Value("do");
  options.webhook = arguments.Value("webhook");
  if (arguments.Has("signal")) {
    const std::optional<int> signal = ParseSignal(arguments.Value("signal"));
    if (!signal)
      return absl::InvalidArgumentError(absl::StrCat(
          "--signal=", arguments.Value("signal"), ": no signal of that name; write USR1, TERM or a number"));
    options.signal = *signal;
  }
  const bool has_action = arguments.Has("do") || arguments.Has("signal") || arguments.Has("webhook");
  if (options.conditions.empty() && has_action) {
    return absl::InvalidArgumentError(
        "--do, --signal and --webhook need a condition: --on leak, growth, undecided-growth or oom-soon");
  }
  if (!options.conditions.empty() && !has_action) {
    return absl::InvalidArgumentError(
        "--on needs something to do: --do 'COMMAND', --signal USR1 or --webhook URL");
  }
  if (arguments.Has("webhook") && !absl::StartsWith(options.webhook, "http://") &&
      !absl::StartsWith(options.webhook, "https://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--webhook=", options.webhook, ": not an address that begins with http:// or https://"));
  }
  PLATEAU_ASSIGN_OR_RETURN(options.interval_seconds, arguments.Number("judge-every", 10));
  if (!(options.interval_seconds >= 0.5))
    return absl::InvalidArgumentError("--judge-every: must be 0.5 seconds or more");
  PLATEAU_ASSIGN_OR_RETURN(options.grace_seconds, arguments.Number("grace", 60));
  if (!(options.grace_seconds >= 0)) return absl::InvalidArgumentError("--grace: must not be below 0");
  if (arguments.Has("stop-before-oom")) {
    const std::string text = arguments.Value("stop-before-oom");
    double percent = 0;
    if (absl::EndsWith(text, "%") && absl::SimpleAtod(text.substr(0, text.size() - 1), &percent) &&
        percent > 0 && percent < 100) {
      options.stop_share = percent / 100;
    } else if (const auto bytes = ParseBytes(text); bytes && *bytes > 0 && !absl::EndsWith(text, "%")) {
      options.stop_bytes = *bytes;
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "--stop-before-oom=", text, ": write a share below 100% or a size, as in 95% or 30GiB"));
    }
  }
  return options;
}

RunGuard::RunGuard(GuardOptions options) : options_(std::move(options)) {}

void RunGuard::Look(pid_t child) {
  child_ = child;
  if (!options_.conditions.empty() && !judge_.joinable()) judge_ = std::thread([this] { JudgeNowAndThen(); });
  StopBeforeOom(child);
}

void RunGuard::Finish() {
  has_ended_ = true;
  if (judge_.joinable()) judge_.join();
}

void RunGuard::JudgeNowAndThen() {
  std::vector<bool> has_acted(options_.conditions.size(), false);
  double next = Now() + options_.interval_seconds;
  while (!has_ended_) {
    usleep(100000);
    if (Now() < next) continue;
    const double begin = Now();
    const auto recording = reader::OpenRecording({options_.directory});
    if (recording.ok()) {
      const auto model = report::BuildReport(*recording, options_.build);
      for (size_t i = 0; model.ok() && i < has_acted.size() && !has_ended_; ++i) {
        if (has_acted[i] || !IsFulfilled(options_.conditions[i], *model)) continue;
        has_acted[i] = true;
        Act(options_.conditions[i], *model);
      }
    }
    next = Now() + std::max(options_.interval_seconds, 9 * (Now() - begin));
  }
}

void RunGuard::Act(const Condition& condition, const report::ReportModel& model) {
  const pid_t process = JudgedProcess(model, child_);
  options_.say(absl::StrCat("--on ", condition.name, ": ", model.verdict.summary));
  if (!options_.command.empty()) {
    const std::string failed =
        Start({"sh", "-c", options_.command}, {absl::StrCat("PLATEAU_CONDITION=", condition.name),
                                               absl::StrCat("PLATEAU_VERDICT=", model.verdict.name),
                                               absl::StrCat("PLATEAU_SUMMARY=", model.verdict.summary),
                                               absl::StrCat("PLATEAU_RECORDING=", options_.directory),
                                               absl::StrCat("PLATEAU_PID=", process)});
    if (!failed.empty()) options_.say(absl::StrCat("--do: not started: ", failed));
  }
  if (!options_.webhook.empty()) {
    const nlohmann::ordered_json body = {{"text", absl::StrCat("Plateau: ", model.verdict.summary)},
                                         {"condition", condition.name},
                                         {"verdict", model.verdict.name},
                                         {"summary", model.verdict.summary},
                                         {"site", model.verdict.site},
                                         {"steps", model.steps.count},
                                         {"command", model.recording.command},
                                         {"recording", options_.directory},
                                         {"pid", process}};
    const std::string text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const std::string failed =
        Start({"curl", "-fsS", "--max-time", "20", "-o", "/dev/null", "-H", "Content-Type: application/json",
               "--data-binary", text, "--", options_.webhook},
              {});
    if (!failed.empty()) options_.say(absl::StrCat("--webhook: curl was not started: ", failed));
  }
  if (options_.signal != 0 && !has_ended_ && kill(process, options_.signal) != 0)
    options_.say(absl::StrCat("--signal: not sent: ", std::strerror(errno)));
}

void RunGuard::StopBeforeOom(pid_t child) {
  if (has_terminated_ || (!options_.stop_share && !options_.stop_bytes)) return;
  bool is_full = false, is_almost_over = false;
  std::string how_full;
  std::vector<pid_t> family;
  if (options_.stop_bytes) {
    family = FamilyOf(child);
    const uint64_t resident = ResidentBytes(family);
    is_full = resident >= *options_.stop_bytes;
    how_full = absl::StrCat("the program has ", FormatBytes(static_cast<double>(resident)), " in memory");
  } else {
    const MemoryUse use = room_.Now();
    is_full = use.UsedShare() >= *options_.stop_share;
    is_almost_over = use.UsedShare() >= (1 + *options_.stop_share) / 2;
    how_full = absl::StrFormat("%s has %.1f %% of %s in use", use.whose, 100 * use.UsedShare(),
                               FormatBytes(static_cast<double>(use.limit_bytes)));
  }
  if (warned_at_ == 0) {
    if (!is_full) return;
    warned_at_ = Now();
    if (family.empty()) family = FamilyOf(child);
    int handlers = 0;
    for (const pid_t pid : family) handlers += Catches(pid, SIGUSR1) && kill(pid, SIGUSR1) == 0;
    stopped_ = absl::StrCat("stopped before memory ran out: ", how_full);
    options_.say(absl::StrCat(
        "--stop-before-oom: ", how_full, "; ",
        handlers > 0 ? absl::StrCat("SIGUSR1 sent to ", handlers, handlers == 1 ? " process" : " processes",
                                    ", SIGTERM follows in ", FormatDuration(options_.grace_seconds))
                     : "nobody handles SIGUSR1, SIGTERM follows"));
    if (handlers > 0) return;
  }
  const bool is_over = Now() - warned_at_ >= options_.grace_seconds;
  if (!is_over && !is_almost_over && warned_at_ != 0 && Now() - warned_at_ > 0.05) return;
  has_terminated_ = true;
  for (const pid_t pid : FamilyOf(child)) kill(pid, SIGTERM);
}

}  // namespace plateau::cli
