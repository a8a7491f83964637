#include "analyzer/cli/launch/launch.h"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/base/input_file.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/launch/target.h"

namespace plateau::cli {
namespace {

volatile sig_atomic_t g_child = 0;

// Passes a signal on that somebody sent to the launcher alone. What the terminal sends reaches the whole
// group anyway.
void PassOn(int signal, siginfo_t* info, void*) {
  const bool is_from_a_process = info->si_code <= 0;
  if (is_from_a_process && g_child > 0 && info->si_pid != g_child) kill(g_child, signal);
}

constexpr int kPassedOn[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM};

class SignalForwarding {
 public:
  SignalForwarding() {
    struct sigaction action {};
    action.sa_sigaction = PassOn;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (size_t i = 0; i < std::size(kPassedOn); ++i) {
      sigaction(kPassedOn[i], nullptr, &before_[i]);
      // A program started by nohup must keep ignoring SIGHUP, and so must we.
      if (before_[i].sa_handler != SIG_IGN) sigaction(kPassedOn[i], &action, nullptr);
    }
  }
  ~SignalForwarding() { Restore(); }
  void Restore() const {
    for (size_t i = 0; i < std::size(kPassedOn); ++i) sigaction(kPassedOn[i], &before_[i], nullptr);
  }

 private:
  struct sigaction before_[std::size(kPassedOn)];
};

// The loader splits LD_PRELOAD at spaces and colons and knows no quotes, so a library whose path has one is
// named by a link in a folder of its own, for as long as the program runs.
class PreloadNames {
 public:
  absl::Status Add(const std::string& library) {
    if (library.find_first_of(" :") == std::string::npos) {
      names_.push_back(library);
      return absl::OkStatus();
    }
    if (folder_.empty()) {
      std::string folder = "/tmp/plateau-lib-XXXXXX";
      if (mkdtemp(folder.data()) == nullptr) return absl::ErrnoToStatus(errno, folder);
      folder_ = folder;
    }
    std::string link = absl::StrCat(folder_, "/", std::filesystem::path(library).filename().string());
    if (symlink(library.c_str(), link.c_str()) != 0) return absl::ErrnoToStatus(errno, link);
    names_.push_back(std::move(link));
    return absl::OkStatus();
  }
  ~PreloadNames() {
    if (folder_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string Joined() const { return absl::StrJoin(names_, ":"); }

 private:
  std::vector<std::string> names_;
  std::string folder_;
};

void SetEnvironment(const Launch& launch, std::string preload) {
  for (const auto& [name, value] : launch.environment) setenv(name.c_str(), value.c_str(), 1);
  if (const char* before = std::getenv("LD_PRELOAD"); before != nullptr && *before != '\0') {
    absl::StrAppend(&preload, ":", before);
  }
  if (!preload.empty()) setenv("LD_PRELOAD", preload.c_str(), 1);
}

// A fifth of a second, or less when the child ends meanwhile. Kernels before 5.3 cannot tell, and the time is slept through.
void SleepUntilEnd(pid_t child) {
  constexpr int kMilliseconds = 200;
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  pollfd end = {fd, POLLIN, 0};
  poll(&end, fd >= 0 ? 1 : 0, kMilliseconds);
  if (fd >= 0) close(fd);
}

// The file that is to be run when it is a program of the kernel's format, else "". What execvp() makes of one that the kernel
// cannot run, such as another processor's, is a shell script.
std::string ElfProgram(const std::string& program) {
  const std::string path = FindProgram(program);
  if (path.empty()) return "";
  const absl::StatusOr<InputFile> file = InputFile::Open(path);
  char magic[SELFMAG] = {};
  const bool is_elf = file.ok() && file->Read(0, magic, sizeof(magic)).value_or(0) == sizeof(magic) &&
                      std::memcmp(magic, ELFMAG, SELFMAG) == 0;
  return is_elf ? path : "";
}

}  // namespace

std::string Ending::Words() const {
  return signal != 0 ? absl::StrCat("signal ", signal) : absl::StrCat("exit ", exit_code);
}

absl::StatusOr<Ending> RunProgram(const Launch& launch) {
  std::vector<char*> argv;
  for (const std::string& word : launch.program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  PreloadNames preload;
  for (const std::string& library : launch.preload) PLATEAU_RETURN_IF_ERROR(preload.Add(library));
  const std::string elf = ElfProgram(launch.program[0]);
  int error_pipe[2];  // tells why exec failed; closed by exec
  if (pipe2(error_pipe, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  SignalForwarding forwarding;
  const pid_t child = fork();
  if (child < 0) return absl::ErrnoToStatus(errno, "fork");
  if (child == 0) {
    forwarding.Restore();
    SetEnvironment(launch, preload.Joined());
    if (elf.empty()) {
      execvp(argv[0], argv.data());
    } else {
      execv(elf.c_str(), argv.data());
    }
    const int error = errno;
    if (write(error_pipe[1], &error, sizeof(error)) != sizeof(error)) _exit(125);
    _exit(127);
  }
  g_child = child;
  close(error_pipe[1]);
  int exec_error = 0;
  while (read(error_pipe[0], &exec_error, sizeof(exec_error)) < 0 && errno == EINTR) {
  }
  close(error_pipe[0]);
  int status = 0;
  if (launch.watch && exec_error == 0) {
    while (waitpid(child, &status, WNOHANG) == 0) {
      launch.watch(child);
      SleepUntilEnd(child);
    }
  } else {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  g_child = 0;
  Ending ending;
  if (exec_error != 0) {
    ending.was_started = false;
    ending.exit_code = exec_error == ENOENT ? 127 : 126;
    ending.reason = absl::StrCat(launch.program[0], ": ",
                                 exec_error == ENOENT ? "command not found" : std::strerror(exec_error));
  } else if (WIFSIGNALED(status)) {
    ending.signal = WTERMSIG(status);
    ending.exit_code = 128 + ending.signal;
  } else {
    ending.exit_code = WEXITSTATUS(status);
  }
  return ending;
}

std::string FindLibrary(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path library = self.parent_path().parent_path() / "lib" / name;
  return std::filesystem::exists(library, error) ? library.string() : "";
}

}  // namespace plateau::cli
