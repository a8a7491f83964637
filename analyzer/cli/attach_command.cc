// `plateau attach` and `plateau detach`: recording from now on in a program that runs, and no more.
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/attach/attach_run.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/launch/launch.h"

namespace plateau::cli {
namespace {

absl::StatusOr<pid_t> ParsePid(const std::string& text) {
  pid_t pid = 0;
  if (!absl::SimpleAtoi(text, &pid) || pid <= 0)
    return absl::InvalidArgumentError(absl::StrCat(text, ": not the number of a process"));
  return pid;
}

// "10m", "90s" or plain seconds.
absl::StatusOr<uint64_t> Milliseconds(const Arguments& arguments, const char* option) {
  const std::string text = arguments.Value(option);
  if (text.empty()) return 0;
  absl::Duration duration;
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds))
    duration = absl::Seconds(seconds);
  else if (!absl::ParseDuration(text, &duration))
    duration = absl::ZeroDuration();
  if (duration <= absl::ZeroDuration() || duration > absl::Hours(24 * 365))
    return absl::InvalidArgumentError(
        absl::StrCat("--", option, "=", text, ": not a time; write 90s, 10m or 2h"));
  return static_cast<uint64_t>(absl::ToInt64Milliseconds(duration));
}

absl::StatusOr<AttachOptions> ParseAttachOptions(const Arguments& arguments) {
  AttachOptions options;
  options.library = FindLibrary("libplateau_attach.so");
  if (options.library.empty())
    return absl::InternalError(
        "plateau attach: libplateau_attach.so is not in ../lib beside this program; install or build it "
        "first");
  options.out = arguments.Value("out");
  options.is_exact = arguments.Has("exact");
  options.may_stop_threads = !arguments.Has("no-stop");
  options.use_memory_file = arguments.Has("memory-file");
  options.trust_filter = arguments.Has("trust-filter");
  PLATEAU_ASSIGN_OR_RETURN(options.end_after_ms, Milliseconds(arguments, "for"));
  PLATEAU_ASSIGN_OR_RETURN(const int64_t steps, arguments.Integer("steps", 0));
  options.end_after_steps = static_cast<uint64_t>(steps);
  PLATEAU_ASSIGN_OR_RETURN(const uint64_t wait_ms, Milliseconds(arguments, "wait"));
  if (wait_ms > 0) options.wait_ms = static_cast<int>(wait_ms);
  return options;
}

void Say(const std::string& sentence) { absl::FPrintF(stderr, "plateau: %s\n", sentence); }

absl::StatusOr<int> RunAttach(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(AttachOptions options, ParseAttachOptions(arguments));
  PLATEAU_ASSIGN_OR_RETURN(const pid_t pid, ParsePid(arguments.positional()[0]));
  PLATEAU_ASSIGN_OR_RETURN(const Attached attached, AttachTo(pid, options));
  for (const std::string& sentence : Sentences(pid, attached)) Say(sentence);
  // One recording for the whole family. A child that ended meanwhile, or is recorded already, is no failure.
  options.out = attached.place.outside;
  for (pid_t child : ProcessTree(pid, arguments.Has("children"))) {
    if (child == pid) continue;
    const auto also = AttachTo(child, options);
    Say(also.ok() ? Sentences(child, *also)[0] : std::string(also.status().message()));
  }
  return kExitOk;
}

absl::StatusOr<int> RunDetach(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(const pid_t pid, ParsePid(arguments.positional()[0]));
  PLATEAU_ASSIGN_OR_RETURN(const uint64_t wait_ms, Milliseconds(arguments, "wait"));
  for (pid_t one : ProcessTree(pid, arguments.Has("children"))) {
    const TargetProcess target(one);
    if (one == pid && target.StartTicks() == 0)
      return absl::NotFoundError(absl::StrCat("there is no process ", pid));
    const absl::StatusOr<std::string> trace = FindAttachedTrace(target);
    if (!trace.ok()) {
      if (one != pid) continue;
      return absl::Status(trace.status().code(), absl::StrCat("pid ", pid, ": ", trace.status().message()));
    }
    const absl::Status status = Detach(target, *trace, wait_ms > 0 ? static_cast<int>(wait_ms) : 10'000);
    if (!status.ok()) return absl::Status(status.code(), absl::StrCat("pid ", one, ": ", status.message()));
    Say(absl::StrCat("detached from pid ", one, "; `plateau report ", trace->substr(0, trace->rfind('/')),
                     "` shows what was recorded"));
  }
  return kExitOk;
}

}  // namespace

const Command& AttachCommand() {
  static const Command command = {
      .name = "attach",
      .usage = "PID",
      .summary = "Record a program that runs already, from now on.",
      .description =
          "No debugger and no restart: the program's next allocation opens the recorder. It stands still for "
          "milliseconds. What is judged is what "
          "is born from now on; what was live before is one line of the ledger. `plateau doctor --pid PID` "
          "says beforehand whether it can be done, "
          "and docs/attach.md how it works.",
      .options =
          {{.name = "out",
            .letter = 'o',
            .value = "DIR",
            .help = "Where the recording goes.",
            .default_value = "plateau-NAME-PID-TIME"},
           {.name = "exact", .help = "Record every event instead of a sample of the small ones."},
           {.name = "for",
            .value = "TIME",
            .help = "Detach by itself after 90s, 10m or 2h.",
            .default_value = "no end"},
           {.name = "steps",
            .value = "N",
            .help = "Detach by itself after N training steps.",
            .default_value = "no end"},
           {.name = "children",
            .help = "Attach to its child processes too. Those that it forks later are recorded in any case."},
           {.name = "no-stop",
            .help = "Stop no thread, where ptrace is not to be had: another tracer, a filter."},
           {.name = "memory-file",
            .help = "Hand the library over in memory instead of by its path. Chosen by itself where the path "
                    "leads nowhere."},
           {.name = "trust-filter",
            .help = "Attach although the program has a seccomp filter that the kernel does not show."},
           {.name = "wait",
            .value = "TIME",
            .help = "How long to wait for a thread that allocates.",
            .default_value = "10s"}},
      .examples = {{"plateau attach 4711", "from now on, until `plateau detach 4711`"},
                   {"plateau attach 4711 --exact --for 10m -o rec", "every event of ten minutes"}},
      .min_positional = 1,
      .max_positional = 1,
      .run = RunAttach};
  return command;
}

const Command& DetachCommand() {
  static const Command command = {
      .name = "detach",
      .usage = "PID",
      .summary = "End what `plateau attach` began; the program goes on.",
      .description =
          "Needs the right to write the trace, nothing else. The program lets go with one of its next "
          "allocations and is as it was, but for the "
          "library, which stays mapped and is not called.",
      .options = {{.name = "children", .help = "Detach from its child processes too."},
                  {.name = "wait",
                   .value = "TIME",
                   .help = "How long to wait for the answer.",
                   .default_value = "10s"}},
      .examples = {{"plateau detach 4711", "leave the program as it was"}},
      .min_positional = 1,
      .max_positional = 1,
      .run = RunDetach};
  return command;
}

}  // namespace plateau::cli
