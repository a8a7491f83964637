#include "analyzer/cli/launch/target.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "analyzer/base/input_file.h"

namespace plateau::cli {
namespace {

#if defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_X86_64;
#endif

// A script that is run by a script that is run by a script: Linux itself follows no more than four.
constexpr int kMaxScripts = 4;
constexpr uint64_t kMaxLibcBytes = 64 << 20;
constexpr size_t kMaxLoaderOutput = 64 << 10;
constexpr int kNoLoader = 125;  // our own exit code; loaders end with 127 when they cannot load something

struct LoaderAnswer {
  bool has_answered = false;
  bool can_load = false;
  std::string output;  // what it printed, errors included
};

// Asks `loader` what it would load for `library`. Its answer is read through a pipe, up to a limit.
LoaderAnswer AskLoader(const std::string& loader, const std::string& library) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child < 0) {
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return {};
  }
  if (child == 0) {
    unsetenv("LD_PRELOAD");
    dup2(pipe_ends[1], STDOUT_FILENO);
    dup2(pipe_ends[1], STDERR_FILENO);
    execl(loader.c_str(), loader.c_str(), "--list", library.c_str(), static_cast<char*>(nullptr));
    _exit(kNoLoader);
  }
  close(pipe_ends[1]);
  LoaderAnswer answer;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(pipe_ends[0], buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    if (answer.output.size() < kMaxLoaderOutput) answer.output.append(buffer, static_cast<size_t>(n));
  }
  close(pipe_ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  answer.has_answered = WIFEXITED(status) && WEXITSTATUS(status) != kNoLoader;
  answer.can_load = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return answer;
}

// The version that a C library's own banner has: "... release version 2.36."
std::string VersionOfLibc(const std::string& path) {
  const auto content = ReadWholeFile(path, kMaxLibcBytes);
  if (!content.ok()) return "";
  constexpr std::string_view kBanner = " release version ";
  const size_t at = content->find(kBanner);
  if (at == std::string::npos) return "";
  const size_t begin = at + kBanner.size();
  size_t end = content->find_first_not_of("0123456789.", begin);
  if (end == std::string::npos || end - begin > 8) return "";
  while (end > begin && (*content)[end - 1] == '.') --end;
  return content->substr(begin, end - begin);
}

// The path behind "libc.so.6 => " in what a loader lists.
std::string LibcOf(const std::string& listing) {
  for (const absl::string_view line : absl::StrSplit(listing, '\n')) {
    const absl::string_view words = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::StartsWith(words, "libc.so.6 => ")) continue;
    const std::vector<std::string> parts = absl::StrSplit(words, ' ');
    if (parts.size() >= 3) return parts[2];
  }
  return "";
}

// The sentence of the loader that says what is missing, without our path in front of it.
std::string Complaint(const std::string& output) {
  const std::string line = output.substr(0, output.find('\n'));
  const size_t colon = line.rfind(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

// The interpreter that the first line of a script names, or "". `env NAME` counts as NAME.
std::string InterpreterOf(const InputFile& file) {
  char line[256] = {};
  const auto n = file.Read(0, line, sizeof(line) - 1);
  if (!n.ok() || *n < 3 || line[0] != '#' || line[1] != '!') return "";
  const absl::string_view text(line + 2);
  const std::vector<std::string> words =
      absl::StrSplit(text.substr(0, text.find('\n')), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.empty()) return "";
  if (!absl::EndsWith(words[0], "/env")) return words[0];
  for (size_t i = 1; i < words.size(); ++i) {
    const bool is_option_or_assignment = words[i][0] == '-' || absl::StrContains(words[i], '=');
    if (!is_option_or_assignment) return words[i];
  }
  return words[0];
}

// The PT_INTERP of an ELF file; empty when it has none.
std::string LoaderOf(const InputFile& file, const Elf64_Ehdr& header) {
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const auto got = file.Read(header.e_phoff + i * sizeof(segment), &segment, sizeof(segment));
    if (!got.ok() || *got < sizeof(segment)) return "";
    if (segment.p_type != PT_INTERP) continue;
    char path[256] = {};
    const auto n = file.Read(segment.p_offset, path, std::min<uint64_t>(segment.p_filesz, sizeof(path) - 1));
    return n.ok() ? std::string(path) : "";
  }
  return "";
}

// Why the system runs this file in secure-execution mode, in which loaders ignore LD_PRELOAD; null: it does not. Scripts have no
// say: Linux ignores these bits on them.
const char* SecureMode(const std::string& path, const struct stat& info) {
  const bool sets_user = (info.st_mode & S_ISUID) && info.st_uid != getuid();
  const bool sets_group = (info.st_mode & S_ISGID) && (info.st_mode & S_IXGRP) && info.st_gid != getgid();
  const bool has_capabilities =
      getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  if (!sets_user && !sets_group && !has_capabilities) return nullptr;
  struct statvfs place;
  if (statvfs(path.c_str(), &place) == 0 && (place.f_flag & ST_NOSUID)) return nullptr;
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return nullptr;
  return sets_user    ? "runs as another user (set-user-id)"
         : sets_group ? "runs as another group (set-group-id)"
                      : "runs with capabilities of its file";
}

// The words for it; "" when there is nothing to say.
std::string NotPreloaded(const std::string& path, const struct stat& info) {
  const char* reason = SecureMode(path, info);
  if (reason == nullptr) return "";
  return absl::StrCat(path, " ", reason, ": the system ignores LD_PRELOAD, nothing can be recorded");
}

void JudgeElf(const InputFile& file, const Elf64_Ehdr& header, const std::string& shim, Target* target) {
  const std::string& path = target->path;
  if (header.e_ident[EI_CLASS] != ELFCLASS64) {
    target->why_not = absl::StrCat(path, " is a 32-bit program: Plateau records 64-bit ones");
    target->may_preload = false;
    return;
  }
  if (header.e_machine != kMachine) {
    target->why_not = absl::StrCat(path, " is built for another processor than Plateau's library");
    target->may_preload = false;
    return;
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > 256) return;
  target->loader = LoaderOf(file, header);
  if (target->loader.empty()) {
    target->why_not = absl::StrCat(
        path, " is statically linked: it has no dynamic loader to load the shim, nothing can be recorded");
    return;
  }
  if (absl::StrContains(target->loader, "ld-musl")) {
    target->why_not =
        absl::StrCat(path, " is built for the C library musl: Plateau records programs of glibc");
    target->may_preload = false;
    return;
  }
  if (shim.empty()) return;
  const LoaderAnswer answer = AskLoader(target->loader, shim);
  if (!answer.has_answered) return;
  if (!answer.can_load) {
    target->why_not = absl::StrCat(path, ": its loader cannot load the shim (", Complaint(answer.output),
                                   "), nothing can be recorded");
    target->may_preload = false;
    return;
  }
  target->glibc = VersionOfLibc(LibcOf(answer.output));
}

}  // namespace

std::string FindProgram(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0 ? program : "";
  const char* path = std::getenv("PATH");
  for (const absl::string_view directory : absl::StrSplit(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    std::string file = absl::StrCat(directory.empty() ? "." : directory, "/", program);
    struct stat info;
    if (access(file.c_str(), X_OK) == 0 && stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode))
      return file;
  }
  return "";
}

Target LookAtTarget(const std::string& program, const std::string& shim) {
  Target target;
  std::string name = program;
  for (int scripts = 0; scripts <= kMaxScripts; ++scripts) {
    target.path = FindProgram(name);
    struct stat info;
    if (target.path.empty() || stat(target.path.c_str(), &info) != 0) return target;
    const absl::StatusOr<InputFile> file = InputFile::Open(target.path);
    if (!file.ok()) {  // it may be run without being read, as a script cannot
      target.why_not = NotPreloaded(target.path, info);
      return target;
    }
    Elf64_Ehdr header;
    const auto n = file->Read(0, &header, sizeof(header));
    if (n.ok() && *n >= sizeof(header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0) {
      target.why_not = NotPreloaded(target.path, info);
      if (target.why_not.empty()) JudgeElf(*file, header, shim, &target);
      return target;
    }
    name = InterpreterOf(*file);
    if (name.empty()) return target;
  }
  return target;
}

std::string HowToStart(const std::string& program) {
  struct stat status;
  if (stat(program.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  if (absl::EndsWith(program, ".py"))
    return absl::StrCat("; a Python script is run by `plateau run -- python3 ", program, "`");
  if (access(program.c_str(), X_OK) == 0 && !absl::StrContains(program, '/'))
    return absl::StrCat("; the file in this directory is run by `plateau run -- ./", program, "`");
  return "";
}

std::string MissingScript(const std::vector<std::string>& command) {
  const std::string name = command[0].substr(command[0].rfind('/') + 1);
  const bool is_shell = name == "sh" || name == "bash" || name == "dash" || name == "zsh";
  if (!absl::StartsWith(name, "python") && !is_shell) return "";
  // An option may take the next word, so only a script right behind the interpreter is known for sure.
  if (command.size() < 2 || command[1].empty() || command[1][0] == '-') return "";
  struct stat status;
  return stat(command[1].c_str(), &status) == 0 || errno != ENOENT ? "" : command[1];
}

}  // namespace plateau::cli
