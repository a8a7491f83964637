#include "analyzer/cli/attach/suitability.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/cli/attach/stopped_threads.h"
#include "preload/base/system_filter.h"

namespace plateau::cli {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "/proc/PID/ns/mnt" names a namespace by what it links to.
std::string LinkOf(const std::string& path) {
  char text[256];
  const ssize_t size = readlink(path.c_str(), text, sizeof(text));
  return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
}

bool HasOther(const TargetProcess& target, const char* kind) {
  const std::string own = LinkOf(absl::StrCat("/proc/self/ns/", kind));
  const std::string its = target.Proc(absl::StrCat("ns/", kind));
  const std::string found = LinkOf(its);
  return !found.empty() && found != own;
}

// Why its memory is not ours to open, by what the kernel looks at.
std::string WhyNotPermitted(const TargetProcess& target) {
  const std::vector<std::string> users =
      absl::StrSplit(target.Status("Uid"), absl::ByAnyChar("\t "), absl::SkipEmpty());
  uid_t user = 0;
  if (users.size() > 1 && absl::SimpleAtoi(users[1], &user) && user != geteuid())
    return absl::StrCat("it belongs to another user (", user, "): run plateau as that user or as root");
  const std::string scope = FirstLine("/proc/sys/kernel/yama/ptrace_scope");
  if (scope == "1")
    return "Yama allows it to parents only (ptrace_scope 1): use sudo, start the program with `setpriv "
           "--ptracer any`, or let it call prctl(PR_SET_PTRACER, ...)";
  if (scope == "2") return "Yama allows it to root only (ptrace_scope 2): use sudo";
  if (scope == "3") return "Yama allows it to nobody until the next boot (ptrace_scope 3)";
  struct stat info;
  if (stat(target.Proc("").c_str(), &info) == 0 && info.st_uid != geteuid())
    return "it is not dumpable (it changed its user, has file capabilities, or called PR_SET_DUMPABLE): run "
           "plateau as root";
  return "the kernel forbids it here: in a container the capability SYS_PTRACE is needed (docker run "
         "--cap-add SYS_PTRACE, kubectl debug --profile=sysadmin), on the host root";
}

void LookAtState(const TargetProcess& target, Suitability* found) {
  const std::string state = target.Status("State").substr(0, 1);
  if (state.empty() || state == "X" || state == "Z") {
    found->is_gone = true;
    found->objections.push_back(state == "Z" ? "it has ended (a zombie whose parent has not asked for it)"
                                             : "there is no such process");
    return;
  }
  if (LinkOf(target.Proc("exe")).empty() && FirstLine(target.Proc("cmdline")).empty())
    found->objections.push_back("it is a thread of the kernel, or belongs to somebody else");
  if (state == "T" || state == "t")
    found->objections.push_back(
        absl::StrCat("it is stopped (state ", state, "): continue it first, kill -CONT ", target.pid()));
  const std::string tracer = target.Status("TracerPid");
  found->is_traced = !tracer.empty() && tracer != "0";
  if (found->is_traced)
    found->remarks.push_back(
        absl::StrCat("process ", tracer, " traces it (a debugger?): only --no-stop can attach"));
  const std::string seccomp = target.Status("Seccomp");
  if (seccomp == "1")
    found->objections.push_back("it locked itself in (seccomp strict mode): any call of ours would end it");
  found->has_filter = seccomp == "2";
}

void LookAtProgram(const TargetProcess& target, Suitability* found) {
  std::ifstream file(target.Proc("exe"), std::ios::binary);
  Elf64_Ehdr header = {};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header)) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return;
  if (header.e_ident[EI_CLASS] != ELFCLASS64) {
    found->objections.push_back("it is a 32-bit program");
#if defined(__x86_64__)
  } else if (header.e_machine != EM_X86_64) {
#else
  } else if (header.e_machine != EM_AARCH64) {
#endif
    found->objections.push_back("it was built for another processor");
  }
}

void LookAtRoot(const TargetProcess& target, const std::string& library, Suitability* found) {
  found->has_other_root = HasOther(target, "mnt");
  struct stat own, its;
  if (stat("/", &own) == 0 && stat(target.Proc("root/").c_str(), &its) == 0)
    found->has_other_root |= own.st_dev != its.st_dev || own.st_ino != its.st_ino;
  if (found->has_other_root)
    found->remarks.push_back("it has another root (a container): the recording lies there");
  if (HasOther(target, "pid"))
    found->remarks.push_back("it is in another pid namespace: traces bear the number that it has there");
  if (HasOther(target, "user")) found->remarks.push_back("it is in another user namespace");
  const bool is_same_file = stat(library.c_str(), &own) == 0 &&
                            stat(target.Proc(absl::StrCat("root", library)).c_str(), &its) == 0 &&
                            own.st_size == its.st_size && own.st_ino == its.st_ino;
  // Every folder on the way must let its user through, and the file must be readable by it.
  const std::vector<std::string> users =
      absl::StrSplit(target.Status("Uid"), absl::ByAnyChar("\t "), absl::SkipEmpty());
  uid_t user = 0;
  bool may_read = users.size() < 2 || !absl::SimpleAtoi(users[1], &user) || user == 0 || user == own.st_uid ||
                  (own.st_mode & S_IROTH) != 0;
  for (size_t slash = library.find('/', 1); may_read && user != 0 && slash != std::string::npos;
       slash = library.find('/', slash + 1)) {
    struct stat folder;
    if (stat(target.Proc(absl::StrCat("root", library.substr(0, slash))).c_str(), &folder) != 0) break;
    may_read = (folder.st_mode & S_IXOTH) != 0 || folder.st_uid == user;
  }
  found->needs_memory_file = !is_same_file || !may_read;
  if (found->needs_memory_file)
    found->remarks.push_back("the library cannot be opened by its path there: it goes through a memory file");
}

}  // namespace

Suitability LookAtProcess(TargetProcess& target, const std::string& library) {
  Suitability found;
  LookAtState(target, &found);
  if (found.is_gone) return found;
  if (const absl::Status status = target.OpenMemory(); !status.ok()) {
    found.objections.push_back(WhyNotPermitted(target));
    return found;
  }
  LookAtProgram(target, &found);
  if (found.objections.empty()) {
    TargetModules modules;
    if (const absl::Status status = modules.Load(target); !status.ok())
      found.objections.push_back(std::string(status.message()));
  }
  if (!library.empty()) LookAtRoot(target, library, &found);
  if (found.has_filter)
    found.remarks.push_back(
        "a filter of system calls (seccomp) is on it, which is asked before anything is done");
  return found;
}

absl::Status AskFilters(const TargetProcess& target) {
  constexpr int kGetFilter = 0x420c;  // PTRACE_SECCOMP_GET_FILTER
  const pid_t thread = target.pid();
  if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) return absl::UnavailableError(strerror(errno));
  ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  int status = 0;
  const uint64_t end_ns = NowNs() + 2'000'000'000u;
  while (waitpid(thread, &status, __WALL | WNOHANG) != thread && NowNs() < end_ns) usleep(50);
  absl::Status answer = absl::OkStatus();
  for (long i = 0;; ++i) {
    const long count =
        ptrace(static_cast<__ptrace_request>(kGetFilter), thread, reinterpret_cast<void*>(i), nullptr);
    if (count < 0) {
      if (errno != ENOENT || i == 0)
        answer = absl::UnavailableError(
            absl::StrCat("the kernel does not show us its filter (", strerror(errno), ")"));
      break;
    }
    std::vector<sock_filter> code(static_cast<size_t>(count));
    if (ptrace(static_cast<__ptrace_request>(kGetFilter), thread, reinterpret_cast<void*>(i), code.data()) !=
        count)
      break;
    sock_fprog program = {static_cast<unsigned short>(count), code.data()};
    if (!sys::FilteredCalls(program).empty()) {
      answer = absl::FailedPreconditionError(
          "its filter of system calls (seccomp) would end it for a call that recording needs");
      break;
    }
  }
  const long signal = WIFSTOPPED(status) && status >> 16 != PTRACE_EVENT_STOP ? WSTOPSIG(status) : 0;
  ptrace(PTRACE_DETACH, thread, nullptr, reinterpret_cast<void*>(signal));
  return answer;
}

}  // namespace plateau::cli
