// `plateau doctor`: what can be recorded on this machine, and why not.
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/input_file.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/attach/suitability.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/launch/launch.h"
#include "analyzer/cli/launch/python_version.h"
#include "analyzer/cli/launch/target.h"

namespace plateau::cli {
namespace {

namespace fs = std::filesystem;

enum class Health { kGood, kLimited, kBad };

struct Finding {
  Health health;
  std::string what;
  std::string detail;
};

std::string Trimmed(const std::string& path) {
  const auto text = ReadWholeFile(path, 1 << 20);
  if (!text.ok()) return "";
  std::string first = text->substr(0, text->find('\n'));
  return first;
}

Finding Shim() {
  const std::string path = FindLibrary("libplateau.so");
  if (path.empty())
    return {Health::kBad, "libplateau.so", "not in ../lib beside this program; build or install it"};
  // Loading it here would record this very process: the shim is told to stay off.
  return {Health::kGood, "libplateau.so", path};
}

// The C library that recorded programs use, which is the one of this system's loader, whatever this program was linked
// with.
Finding Libc(const std::string& shim) {
  for (const char* program : {"python3", "/bin/sh"}) {
    const Target target = LookAtTarget(program, shim);
    if (target.path.empty()) continue;
    if (!target.why_not.empty()) return {Health::kBad, "C library", target.why_not};
    if (target.glibc.empty()) continue;
    int minor = 0;
    const bool has_find_object =
        absl::SimpleAtoi(target.glibc.substr(target.glibc.find('.') + 1), &minor) && minor >= 35;
    return {has_find_object ? Health::kGood : Health::kLimited, "C library",
            absl::StrCat("glibc ", target.glibc,
                         has_find_object ? ", finds modules without locks (_dl_find_object)"
                                         : ", older than 2.35: new modules are found more slowly")};
  }
  return {Health::kLimited, "C library", "its version could not be found"};
}

Finding Clock() {
#if defined(__aarch64__)
  return {Health::kGood, "clock", "the processor's counter runs at a constant rate"};
#else
  const auto cpuinfo = ReadWholeFile("/proc/cpuinfo", 8 << 20);
  const bool is_invariant = cpuinfo.ok() && absl::StrContains(*cpuinfo, "constant_tsc") &&
                            absl::StrContains(*cpuinfo, "nonstop_tsc");
  return {is_invariant ? Health::kGood : Health::kLimited, "clock",
          is_invariant ? "the processor's time stamp counter runs at a constant rate"
                       : "no invariant time stamp counter: the system clock is used, which costs more"};
#endif
}

Finding Disk() {
  struct statvfs info;
  if (statvfs(".", &info) != 0 || access(".", W_OK) != 0) {
    return {Health::kLimited, "disk", "this directory cannot be written; give `plateau run --out DIR`"};
  }
  const double free_bytes = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  const bool is_enough = free_bytes > 2.0 * (1 << 30);
  return {
      is_enough ? Health::kGood : Health::kLimited, "disk",
      absl::StrCat(FormatBytes(free_bytes), " free here; a trace is limited to 1 GiB unless told otherwise")};
}

Finding MemoryLimit() {
  std::string limit = Trimmed("/sys/fs/cgroup/memory.max");
  if (limit.empty()) {
    // The process's own group, when the root shows none.
    const std::string group = Trimmed("/proc/self/cgroup");
    const size_t colon = group.rfind(':');
    if (colon != std::string::npos)
      limit = Trimmed(absl::StrCat("/sys/fs/cgroup", group.substr(colon + 1), "/memory.max"));
  }
  if (limit.empty()) limit = Trimmed("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  double bytes = 0;
  if (absl::SimpleAtod(limit, &bytes) && bytes < 1e17) {
    return {Health::kGood, "memory limit",
            absl::StrCat("cgroup limit of ", FormatBytes(bytes), ": forecasts use it")};
  }
  const auto meminfo = ReadWholeFile("/proc/meminfo", 1 << 16);
  double kib = 0;
  if (meminfo.ok()) {
    const size_t at = meminfo->find_first_of("0123456789");
    if (at != std::string::npos) kib = std::strtod(meminfo->c_str() + at, nullptr);
  }
  return {Health::kGood, "memory limit",
          absl::StrCat("no cgroup limit; forecasts use the machine's ", FormatBytes(kib * 1024))};
}

Finding SymbolFiles() {
  std::error_code error;
  const bool has_debug = fs::exists("/usr/lib/debug/.build-id", error);
  return {Health::kGood, "symbols",
          has_debug ? "debug files of the distribution are installed and used"
                    : "no separate debug files; system libraries show function names without lines"};
}

// What is known of an interpreter by the name of its file.
Finding Python(const std::string& path) {
  const PythonVersion version = VersionOfPython(path);
  std::string what = absl::StrCat(path, " (", version.name, "): ");
  if (!version.is_python) {
    absl::StrAppend(&what, "version not known from its name");
    return {Health::kGood, "Python", std::move(what)};
  }
  if (version.has_frames) {
    absl::StrAppend(&what, "frames and pymalloc are recorded");
  } else if (version.free_threaded) {
    absl::StrAppend(&what, "a free-threaded build: native frames are recorded, Python's are not");
  } else {
    absl::StrAppend(&what, "frames are recorded for ", PythonsWithFrames(), " only; native frames always");
  }
  return {version.has_frames ? Health::kGood : Health::kLimited, "Python", std::move(what)};
}

Finding PythonInPath() {
  for (const char* name : {"python3", "python"}) {
    const std::string path = FindProgram(name);
    if (!path.empty()) return Python(path);
  }
  return {Health::kGood, "Python", "none in PATH; native programs are recorded"};
}

Finding Torch() {
  std::error_code error;
  for (const char* pattern :
       {"/usr/lib/python3/dist-packages/torch", "/usr/local/lib/python3/dist-packages/torch"}) {
    if (fs::exists(pattern, error))
      return {Health::kGood, "torch", absl::StrCat(pattern, ": steps and tensors are found by name")};
  }
  return {Health::kGood, "torch", "looked for when the program loads it; nothing to install"};
}

Finding Cuda() {
  const std::string shim = FindLibrary("libplateau_cuda.so");
  std::error_code error;
  const bool has_driver = fs::exists("/proc/driver/nvidia/version", error);
  if (shim.empty())
    return {has_driver ? Health::kLimited : Health::kGood, "CUDA",
            "libplateau_cuda.so is not installed; device memory is not recorded"};
  return {Health::kGood, "CUDA",
          has_driver ? "driver found; device memory is recorded" : "no driver on this machine"};
}

Finding Preload() {
  if (fs::exists("/etc/suid-debug")) return {Health::kGood, "preloading", "allowed"};
  return {Health::kGood, "preloading",
          "LD_PRELOAD works for dynamically linked programs of your own; no ptrace, no privileges. Static "
          "and set-user-id "
          "programs cannot be recorded"};
}

// The program that is to be recorded: its loader, its C library, and what is known of it when it is Python.
Finding Program(const std::string& program, const std::string& shim) {
  const Target target = LookAtTarget(program, shim);
  if (target.path.empty()) return {Health::kBad, program, "not found"};
  // A script is not recorded because of its interpreter, which is then named.
  if (!target.why_not.empty()) {
    return {Health::kBad, program,
            std::string(absl::StripPrefix(target.why_not, absl::StrCat(program, " ")))};
  }
  Finding finding{Health::kGood, program, "can be recorded"};
  if (!target.glibc.empty()) absl::StrAppend(&finding.detail, "; glibc ", target.glibc);
  if (absl::StrContains(fs::path(target.path).filename().string(), "python")) {
    const Finding python = Python(target.path);
    finding.health = python.health;
    absl::StrAppend(&finding.detail, "; ", python.detail);
  }
  return finding;
}

// A process that runs: whether `plateau attach` could, found out without touching it.
absl::Status AddProcess(const std::string& text, std::vector<Finding>* findings) {
  pid_t pid = 0;
  if (!absl::SimpleAtoi(text, &pid) || pid <= 0)
    return absl::InvalidArgumentError(absl::StrCat("--pid=", text, ": not the number of a process"));
  TargetProcess target(pid);
  const std::string library = FindLibrary("libplateau_attach.so");
  const Suitability found = LookAtProcess(target, library);
  const std::string who =
      absl::StrCat("process ", pid, found.is_gone ? "" : absl::StrCat(" (", target.Name(), ")"));
  if (library.empty())
    findings->push_back({Health::kBad, "libplateau_attach.so", "not in ../lib beside this program"});
  for (const std::string& objection : found.objections) findings->push_back({Health::kBad, who, objection});
  for (const std::string& remark : found.remarks) findings->push_back({Health::kLimited, who, remark});
  if (found.objections.empty())
    findings->push_back({Health::kGood, who, absl::StrCat("can be attached to: plateau attach ", pid)});
  return absl::OkStatus();
}

absl::StatusOr<int> RunDoctor(const Arguments& arguments) {
  const std::string shim = FindLibrary("libplateau.so");
  std::vector<Finding> findings = {Shim(), Libc(shim),    Preload(),    Clock(),
                                   Disk(), MemoryLimit(), SymbolFiles()};
  findings.push_back(PythonInPath());
  findings.push_back(Torch());
  findings.push_back(Cuda());
  for (const std::string& pid : arguments.Values("pid")) PLATEAU_RETURN_IF_ERROR(AddProcess(pid, &findings));
  for (const std::string& program : arguments.positional()) findings.push_back(Program(program, shim));
  utsname system;
  uname(&system);
  absl::PrintF("%s %s on %s\n", system.sysname, system.release, system.machine);
  const std::string machine = system.machine;
  bool is_bad = machine != "x86_64" && machine != "aarch64";
  if (is_bad) absl::PrintF("bad      machine: Plateau records x86_64 and aarch64 programs\n");
  for (const Finding& finding : findings) {
    const char* word = finding.health == Health::kGood      ? "good"
                       : finding.health == Health::kLimited ? "limited"
                                                            : "bad";
    absl::PrintF("%-8s %s: %s\n", word, finding.what, finding.detail);
    is_bad |= finding.health == Health::kBad;
  }
  return is_bad ? kExitCheckFailed : kExitOk;
}

}  // namespace

const Command& DoctorCommand() {
  static const Command command = {
      .name = "doctor",
      .usage = "[PROGRAM]...",
      .summary = "Say what can be recorded on this machine, and why not.",
      .description = "Exits with 1 when something is in the way. Programs that are named are looked at too.",
      .options = {{.name = "pid",
                   .letter = 'p',
                   .value = "PID",
                   .help = "A process that runs: whether `plateau attach` could. Nothing is done to it.",
                   .default_value = "no process",
                   .repeated = true}},
      .examples = {{"plateau doctor", "this machine"},
                   {"plateau doctor ./train", "this machine and one program"},
                   {"plateau doctor --pid 4711", "could that process be attached to?"}},
      .run = RunDoctor};
  return command;
}

}  // namespace plateau::cli
