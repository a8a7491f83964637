// `plateau run`: records a program, then says what its memory did.
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/output_file.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/launch/directory_name.h"
#include "analyzer/cli/launch/launch.h"
#include "analyzer/cli/launch/memory_room.h"
#include "analyzer/cli/launch/python_version.h"
#include "analyzer/cli/launch/recorded_time.h"
#include "analyzer/cli/launch/target.h"
#include "analyzer/cli/load_report.h"
#include "analyzer/cli/run_guard.h"
#include "analyzer/reader/recording.h"
#include "analyzer/reader/trace_packer.h"
#include "analyzer/report/json/json_report.h"
#include "analyzer/report/page/html_report.h"
#include "analyzer/report/text/card.h"

namespace plateau::cli {
namespace {

namespace fs = std::filesystem;

// An option of `run` that becomes a variable of the shim's environment.
struct Passed {
  const char* option;
  const char* variable;
  const char* value;  // what a switch means; nullptr: the option's own value
};
constexpr Passed kPassed[] = {{"exact", "PLATEAU_MODE", "exact"},
                              {"sample-bytes", "PLATEAU_SAMPLE_BYTES", nullptr},
                              {"exact-from", "PLATEAU_EXACT_FROM", nullptr},
                              {"max-trace-size", "PLATEAU_MAX_TRACE", nullptr},
                              {"no-python", "PLATEAU_PYTHON", "0"},
                              {"no-steps", "PLATEAU_STEPS", "0"},
                              {"loop-rounds", "PLATEAU_LOOP_ROUNDS", "1"},
                              {"no-holders", "PLATEAU_HOLDERS", "0"},
                              {"no-follow", "PLATEAU_FOLLOW", "0"},
                              {"keep-arguments", "PLATEAU_KEEP_ARGUMENTS", "1"},
                              {"quiet", "PLATEAU_QUIET", "1"}};

absl::Status PassPythonOptions(const Arguments& arguments, Launch* launch) {
  if (arguments.Has("python-alloc")) {
    const std::string how = arguments.Value("python-alloc");
    if (how == "malloc") {
      launch->environment.emplace_back("PYTHONMALLOC", "malloc");
    } else if (how == "sample" || how == "exact" || how == "off") {
      launch->environment.emplace_back("PLATEAU_PYTHON_ALLOC", how);
    } else {
      return NotOneOf("python-alloc", how, {"sample", "exact", "malloc", "off"});
    }
  }
  if (arguments.Has("native")) {
    const std::string how = arguments.Value("native");
    if (how != "leaf" && how != "full") {
      return NotOneOf("native", how, {"leaf", "full"});
    }
    launch->environment.emplace_back("PLATEAU_PYTHON_NATIVE", how);
  }
  return absl::OkStatus();
}

absl::Status RemoveTraces(const reader::Recording& recording, const std::string& directory) {
  for (const reader::TraceFile& trace : recording.traces) {
    if (unlink(trace.path.c_str()) != 0) return absl::ErrnoToStatus(errno, trace.path);
  }
  unlink(absl::StrCat(directory, "/", reader::kEndingFile).c_str());
  return absl::OkStatus();
}

// A directory with the traces of a run that has ended is not written into: the two would be reported as one.
// With --force its traces go. A run that is still going on is joined, as the ranks of a job do.
absl::Status MakeRoomIn(const Arguments& arguments, const std::string& directory) {
  const absl::StatusOr<reader::Recording> old = reader::OpenRecording({directory});
  if (!old.ok()) {
    // Nothing in it is a trace, or only what a newer version wrote.
    if (absl::IsFailedPrecondition(old.status())) return absl::OkStatus();
    return old.status();
  }
  if (old->IsRunning()) return absl::OkStatus();
  if (!arguments.Has("force")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--out=", directory,
                     ": a recording is in it already; give another directory, or --force to replace "
                     "it (`plateau report ",
                     directory, "` shows it)"));
  }
  return RemoveTraces(*old, directory);
}

// "plateau-train-20260131-120000"; a number is added when it is taken.
absl::StatusOr<std::string> MakeRecordingDirectory(const Arguments& arguments) {
  std::string directory = ExpandDirectoryName(arguments.Value("out"));
  const bool is_chosen = !directory.empty();
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  if (!is_chosen) {
    const std::string& program = arguments.program()[0];
    char when[32];
    const time_t now = time(nullptr);
    tm local;
    strftime(when, sizeof(when), "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    directory = absl::StrCat("plateau-", program.substr(program.rfind('/') + 1), "-", when);
  }
  const std::string wanted = directory;
  for (int attempt = 2; mkdir(directory.c_str(), 0700) != 0; ++attempt) {
    if (errno == EEXIST && is_chosen) {
      if (fs::is_directory(directory)) {
        PLATEAU_RETURN_IF_ERROR(MakeRoomIn(arguments, directory));
        break;
      }
      return absl::InvalidArgumentError(absl::StrCat("--out=", directory, ": not a directory"));
    }
    if (errno == ENOENT && is_chosen) {
      std::error_code error;
      fs::create_directories(fs::absolute(directory).lexically_normal().parent_path(), error);
      if (!error && mkdir(directory.c_str(), 0700) == 0) break;
    }
    if (errno != EEXIST || attempt > 1000) {
      return absl::ErrnoToStatus(errno, absl::StrCat("plateau run: no recording can be made in ", directory,
                                                     " (another place: -o DIR)"));
    }
    directory = absl::StrCat(wanted, "-", attempt);
  }
  return fs::absolute(directory).string();
}

void Say(const Arguments& arguments, const std::string& sentence) {
  if (!arguments.Has("quiet")) absl::FPrintF(stderr, "plateau: %s\n", sentence);
}

// Whether a program could find a CUDA driver here: a device of it, or its library where loaders look.
bool HasCudaDriver() {
  std::vector<std::string> directories = {
      "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
      "/usr/lib/wsl/lib",          "/usr/local/nvidia/lib64"};
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    for (const absl::string_view part : absl::StrSplit(path, ':', absl::SkipEmpty()))
      directories.emplace_back(part);
  }
  std::error_code ignored;
  if (fs::exists("/dev/nvidiactl", ignored)) return true;
  for (const std::string& directory : directories) {
    if (fs::exists(directory + "/libcuda.so.1", ignored)) return true;
  }
  return false;
}

absl::StatusOr<Launch> PrepareLaunch(const Arguments& arguments, const std::string& directory) {
  Launch launch;
  launch.program = arguments.program();
  launch.environment.emplace_back("PLATEAU_OUT", DirectoryPattern(directory));
  for (const Passed& passed : kPassed) {
    if (!arguments.Has(passed.option)) continue;
    std::string value = passed.value != nullptr ? passed.value : arguments.Value(passed.option);
    if (passed.value == nullptr) {
      PLATEAU_ASSIGN_OR_RETURN(const uint64_t bytes, arguments.Bytes(passed.option, 0));
      value = absl::StrCat(bytes);
    }
    launch.environment.emplace_back(passed.variable, value);
  }
  PLATEAU_RETURN_IF_ERROR(PassPythonOptions(arguments, &launch));
  const std::string shim = FindLibrary("libplateau.so");
  if (shim.empty()) {
    return absl::InternalError(
        "plateau run: libplateau.so is not in ../lib beside this program; install or build it first");
  }
  launch.preload.push_back(shim);
  if (!arguments.Has("no-cuda") && (arguments.Has("cuda") || HasCudaDriver())) {
    const std::string cuda = FindLibrary("libplateau_cuda.so");
    if (cuda.empty() && arguments.Has("cuda")) {
      return absl::InternalError(
          "plateau run: libplateau_cuda.so is not in ../lib beside this program; install or build it first");
    }
    if (!cuda.empty()) launch.preload.push_back(cuda);
  }
  // The start-up hook of recorded interpreters: docs/steps.md.
  if (const std::string hook = FindLibrary("plateau/python/plateau_site");
      !hook.empty() && !arguments.Has("no-steps")) {
    const char* before = std::getenv("PYTHONPATH");
    const bool has_more = before != nullptr && *before != '\0';
    launch.environment.emplace_back("PYTHONPATH", has_more ? absl::StrCat(hook, ":", before) : hook);
  }
  return launch;
}

std::string PythonFrames(const Arguments& arguments, const Target& target) {
  if (arguments.Has("no-python")) return "no Python frames (--no-python)";
  const PythonVersion version = VersionOfPython(target.path);
  if (!version.is_python || version.has_frames) return "Python frames";
  return absl::StrCat("no Python frames (", version.name, "; recorded are those of ", PythonsWithFrames(),
                      ")");
}

// What this run is asked to record. Which parts found their interpreter, torch or driver is known later: the
// report has it under "Levels".
std::string StartLine(const Arguments& arguments, const Launch& launch, const Target& target,
                      const std::string& directory) {
  std::error_code ignored;
  std::string line = absl::StrCat("recording in ", fs::proximate(directory, ignored).string(), ": ",
                                  arguments.Has("exact") ? "exact" : "default", " mode, ",
                                  PythonFrames(arguments, target), ", ");
  absl::StrAppend(&line, arguments.Has("no-steps") ? "no torch steps (--no-steps), " : "torch steps, ");
  const bool has_cuda = launch.preload.size() > 1;
  absl::StrAppend(&line, has_cuda                   ? "CUDA"
                         : arguments.Has("no-cuda") ? "no CUDA (--no-cuda)"
                                                    : "no CUDA (no driver here)");
  return line;
}

void NoteEnding(const std::string& directory, const std::string& words) {
  // Without it the report says less about how the run ended, nothing else.
  WriteWholeFile(absl::StrCat(directory, "/", reader::kEndingFile), absl::StrCat(words, "\n")).IgnoreError();
}

// Larger traces take longer to pack, and to read when they are packed, than anyone waits at the end of a run.
constexpr uint64_t kPackedAtOnceBytes = 32 << 20;

void PackFinished(const Arguments& arguments, const reader::Recording& recording) {
  for (const reader::TraceFile& trace : recording.traces) {
    std::error_code error;
    const uint64_t bytes = fs::file_size(trace.path, error);
    if (!error && bytes > kPackedAtOnceBytes) {
      Say(arguments, absl::StrCat(trace.path, " has ", FormatBytes(static_cast<double>(bytes)),
                                  "; `plateau pack` makes it several times smaller"));
      continue;
    }
    const auto packed = reader::PackTrace(trace.path);
    if (!packed.ok()) Say(arguments, absl::StrCat("not packed: ", std::string(packed.status().message())));
  }
}

absl::Status Report(const Arguments& arguments, const reader::Recording& recording,
                    const report::BuildOptions& base_options) {
  if (arguments.Has("no-report")) return absl::OkStatus();
  report::BuildOptions options = base_options;
  const std::string html = arguments.Value("html"), json = arguments.Value("json");
  options.with_stacks = !html.empty();
  options.with_details = !html.empty() || !json.empty();
  PLATEAU_ASSIGN_OR_RETURN(const report::ReportModel model, report::BuildReport(recording, options));
  const std::string card =
      report::WriteCard(model, {.color = WantsColor(STDERR_FILENO), .columns = CardColumns(STDERR_FILENO)});
  std::fputs(card.c_str(), stderr);
  if (!html.empty()) PLATEAU_RETURN_IF_ERROR(WriteOutput(html, report::WriteHtmlReport(model)));
  if (!json.empty())
    PLATEAU_RETURN_IF_ERROR(WriteOutput(json, absl::StrCat(report::WriteJsonReport(model), "\n")));
  return absl::OkStatus();
}

// Everything after the program's end. Failures are said and change nothing about the exit code.
absl::Status Finish(const Arguments& arguments, const std::string& directory,
                    const report::BuildOptions& options, const Ending& ending,
                    const std::string& ending_words, uint64_t begin_ns) {
  const uint64_t end_ns = MonotonicNs();
  NoteEnding(directory, ending_words);
  PLATEAU_ASSIGN_OR_RETURN(reader::Recording recording, reader::OpenRecording({directory}));
  if (const std::string script = MissingScript(arguments.program());
      ending.exit_code != 0 && !script.empty()) {
    // The interpreter has said so itself; a card about its start-up would hide that.
    PLATEAU_RETURN_IF_ERROR(RemoveTraces(recording, directory));
    rmdir(directory.c_str());
    return absl::NotFoundError(absl::StrCat("there is no ", script, ", so there is nothing to report"));
  }
  const std::string lost = LostTime(recording, begin_ns, end_ns);
  if (!lost.empty()) {  // a card about the rest would be about another program
    NoteEnding(directory, absl::StrCat(ending_words, "; ", lost));
    absl::FPrintF(stderr, "plateau: %s\n", lost);
  }
  absl::Status status = lost.empty() ? Report(arguments, recording, options) : absl::OkStatus();
  if (!arguments.Has("no-pack")) PackFinished(arguments, recording);
  return status;
}

// A program whose loader would fail on the shim: it runs as if we were not there.
absl::StatusOr<int> RunUntouched(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(const Ending ending, RunProgram({.program = arguments.program()}));
  if (!ending.was_started)
    absl::FPrintF(stderr, "plateau run: %s%s\n", ending.reason, HowToStart(arguments.program()[0]));
  return ending.exit_code;
}

absl::StatusOr<int> RunRun(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(GuardOptions guarded, ParseGuard(arguments));
  PLATEAU_ASSIGN_OR_RETURN(const report::BuildOptions options, ParseAnalysisOptions(arguments));
  const Target target = LookAtTarget(arguments.program()[0], FindLibrary("libplateau.so"));
  if (!target.why_not.empty()) Say(arguments, target.why_not);
  if (!target.may_preload) return RunUntouched(arguments);
  PLATEAU_ASSIGN_OR_RETURN(const std::string directory, MakeRecordingDirectory(arguments));
  PLATEAU_ASSIGN_OR_RETURN(Launch launch, PrepareLaunch(arguments, directory));
  if (target.why_not.empty() && !target.path.empty()) {
    Say(arguments, StartLine(arguments, launch, target, directory));
  }
  const bool is_guarded = !guarded.IsIdle();
  guarded.directory = directory;
  guarded.build = options;
  guarded.build.with_stacks = guarded.build.with_details = false;
  guarded.say = [](const std::string& text) { absl::FPrintF(stderr, "plateau: %s\n", text); };
  RunGuard guard(std::move(guarded));
  if (is_guarded) launch.watch = [&guard](pid_t child) { guard.Look(child); };
  const MemoryRoom room;
  const KillCounts kills = room.Kills();
  const uint64_t begin_ns = MonotonicNs();
  PLATEAU_ASSIGN_OR_RETURN(const Ending ending, RunProgram(launch));
  guard.Finish();
  if (!ending.was_started) {
    rmdir(directory.c_str());
    absl::FPrintF(stderr, "plateau run: %s%s\n", ending.reason, HowToStart(arguments.program()[0]));
    return ending.exit_code;
  }
  std::error_code error;
  if (fs::is_empty(directory, error)) {
    rmdir(directory.c_str());
    if (target.why_not.empty()) Say(arguments, "nothing was recorded; `plateau doctor` says what can be");
    return ending.exit_code;
  }
  std::string words = ending.Words();
  if (!guard.stopped().empty()) absl::StrAppend(&words, "; ", guard.stopped());
  // What was killed may be a child; the program itself then ends with 137, or in any other way.
  if (const std::string killed = KillsInWords(kills, room.Kills()); !killed.empty() && ending.exit_code != 0)
    absl::StrAppend(&words, "; ", killed);
  if (const absl::Status status = Finish(arguments, directory, options, ending, words, begin_ns);
      !status.ok()) {
    Say(arguments, std::string(status.message()));
  }
  if (!fs::exists(directory, error)) return ending.exit_code;
  Say(arguments,
      absl::StrCat("`plateau report ", fs::proximate(directory, error).string(), "` shows it again"));
  return ending.exit_code;
}

std::vector<Option> WithGuardOptions(std::vector<Option> options) {
  for (const Option& option : GuardOptionRows()) options.push_back(option);
  return options;
}

}  // namespace

const Command& RunCommand() {
  static const Command command = {
      .name = "run",
      .usage = "-- PROGRAM [ARGUMENTS]...",
      .summary = "Record a program, then print what its memory did.",
      .description =
          "The program runs as it would without Plateau: same output, same exit code (128 + signal when it "
          "was killed). When it has "
          "ended, in whatever way, the card goes to stderr. Child processes are recorded too. The recording "
          "is a directory; "
          "`plateau report` reads it again, also while the program is still running.",
      .options = WithGuardOptions(WithAnalysisOptions(
          {{.name = "out",
            .letter = 'o',
            .value = "DIR",
            .help = "Directory of the recording.",
            .default_value = "plateau-PROGRAM-DATE-TIME"},
           {.name = "force", .help = "Replace the recording that is in the directory of --out already."},
           {.name = "exact",
            .help =
                "Record every allocation of malloc instead of sampling small ones; see also --python-alloc."},
           {.name = "sample-bytes",
            .value = "BYTES",
            .help = "Mean distance between samples of small requests.",
            .default_value = "512KiB"},
           {.name = "exact-from",
            .value = "BYTES",
            .help = "Requests of this size or more are always recorded.",
            .default_value = "16KiB"},
           {.name = "max-trace-size",
            .value = "BYTES",
            .help =
                "Size limit of one process's trace, kept by coarser sampling, then by totals; 0 for none.",
            .default_value = "1GiB"},
           {.name = "no-python", .help = "Record no Python frames and no pymalloc."},
           {.name = "python-alloc",
            .value = "HOW",
            .help = "Python's small objects, also with --exact: sample them, record each inside pymalloc "
                    "(exact), let "
                    "each be one of malloc (malloc), or leave them out (off).",
            .default_value = "sample"},
           {.name = "native",
            .value = "HOW",
            .help = "Native frames of Python programs: leaf or full.",
            .default_value = "leaf"},
           {.name = "no-steps", .help = "Do not look for training steps and tensors in torch."},
           {.name = "loop-rounds",
            .help =
                "Count the rounds of the program's own Python loops (3.12 and later), for programs without "
                "training steps."},
           {.name = "no-holders",
            .help = "Do not look for the references that keep growing bytes alive (CPython 3.8 to 3.14)."},
           {.name = "no-follow", .help = "Do not record child processes."},
           {.name = "keep-arguments",
            .help = "Record the command line as it is. Else what looks like a password, a key or a token "
                    "becomes ***."},
           {.name = "cuda", .help = "Load the CUDA part also where no driver is found."},
           {.name = "no-cuda", .help = "Do not load the CUDA part."},
           {.name = "html",
            .value = "FILE",
            .help = "Write the report as one HTML file.",
            .default_value = "no HTML"},
           {.name = "json", .value = "FILE", .help = "Write the report as JSON.", .default_value = "no JSON"},
           {.name = "no-report", .help = "Only record."},
           {.name = "no-pack",
            .help = "Leave the finished traces as they are. Else those of up to 32 MiB are packed."},
           {.name = "quiet", .letter = 'q', .help = "Say nothing but the card."}})),
      .examples = {{"plateau run -- python train.py --epochs 2", "a Python training run"},
                   {"plateau run --exact -o rec --html report.html -- ./train",
                    "every allocation of a C++ program, with a page"},
                   {"plateau run --on leak --do 'notify-send \"$PLATEAU_SUMMARY\"' -- python train.py",
                    "say so as soon as it is known"},
                   {"plateau run --stop-before-oom 95% -- python train.py",
                    "end it with a checkpoint before the kernel does without"},
                   {"plateau run --no-report -- make -j8",
                    "only record; look at it later with `plateau report`"}},
      .min_positional = 1,
      .takes_program = true,
      .run = RunRun};
  return command;
}

}  // namespace plateau::cli
