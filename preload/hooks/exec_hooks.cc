#include "preload/hooks/exec_hooks.h"

#include <elf.h>
#include <errno.h>

#include <cstring>
#include <string_view>

#include "preload/base/fixed_text.h"
#include "preload/base/raw_log.h"
#include "preload/base/real_functions.h"
#include "preload/base/system_call.h"
#include "preload/recorder/event.h"
#include "preload/recorder/file/trace_sink.h"

extern "C" char** environ;

namespace plateau {
namespace {

constexpr int kMaxScripts = 4;  // Linux itself follows no more
constexpr size_t kMaxVariables = 8192;
constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::string_view kOwnNames[] = {"libplateau.so", "libplateau_cuda.so"};

using Path = FixedText<4096>;

class File {
 public:
  explicit File(const char* path) : fd_(sys::Open(path, O_RDONLY | O_NONBLOCK)) {}
  ~File() {
    if (!sys::Failed(fd_)) sys::Close(static_cast<int>(fd_));
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const { return !sys::Failed(fd_); }
  size_t Read(uint64_t offset, void* out, size_t bytes) const {
    const long got = sys::Pread(static_cast<int>(fd_), out, bytes, offset);
    return got < 0 ? 0 : static_cast<size_t>(got);
  }

 private:
  const long fd_;
};

// Why the loader of this ELF file cannot take the shim; null when it can, or has no say.
const char* Objection(const File& file, const Elf64_Ehdr& header) {
#if defined(__x86_64__)
  constexpr uint16_t kMachine = EM_X86_64;
#else
  constexpr uint16_t kMachine = EM_AARCH64;
#endif
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "a 32-bit program";
  if (header.e_machine != kMachine) return "built for another processor";
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return nullptr;
  for (uint16_t i = 0; i < header.e_phnum && i < 64; ++i) {
    Elf64_Phdr segment;
    if (file.Read(header.e_phoff + i * sizeof(segment), &segment, sizeof(segment)) < sizeof(segment))
      return nullptr;
    if (segment.p_type != PT_INTERP) continue;
    char loader[128] = {};
    file.Read(segment.p_offset, loader, sizeof(loader) - 1);
    return std::strstr(loader, "ld-musl") != nullptr ? "built for the C library musl" : nullptr;
  }
  return nullptr;
}

// The same for a program or script by its path.
const char* ObjectionTo(const char* path) {
  Path script;
  for (int depth = 0; depth <= kMaxScripts; ++depth) {
    const File file(path);
    if (!file.is_open()) return nullptr;
    union {
      Elf64_Ehdr elf;
      char text[256];
    } head = {};
    const size_t got = file.Read(0, head.text, sizeof(head.text) - 1);
    if (got >= sizeof(Elf32_Ehdr) && std::memcmp(head.text, ELFMAG, SELFMAG) == 0)
      return Objection(file, head.elf);
    if (got < 3 || head.text[0] != '#' || head.text[1] != '!') return nullptr;
    const char* begin = head.text + 2;
    while (*begin == ' ' || *begin == '\t') ++begin;
    const size_t size = std::strcspn(begin, " \t\n");
    script.Clear();
    script << std::string_view(begin, size);
    path = script.c_str();
  }
  return nullptr;
}

// The first file of this name in PATH that can be read, as execvp() searches it.
const char* SearchPath(const char* file, Path* found) {
  if (std::strchr(file, '/') != nullptr) return file;
  const char* list = "/bin:/usr/bin";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "PATH=", 5) != 0) continue;
    list = *entry + 5;
    break;
  }
  for (;;) {
    const size_t size = std::strcspn(list, ":");
    found->Clear();
    *found << (size == 0 ? std::string_view(".") : std::string_view(list, size)) << "/" << file;
    if (found->size() + 1 < 4096 && File(found->c_str()).is_open()) return found->c_str();
    if (list[size] == 0) return nullptr;
    list += size + 1;
  }
}

bool IsOwn(std::string_view library) {
  const size_t slash = library.rfind('/');
  if (slash != std::string_view::npos) library = library.substr(slash + 1);
  for (std::string_view name : kOwnNames) {
    if (library == name) return true;
  }
  return false;
}

// Calls visit(library) for each entry of a list like LD_PRELOAD's.
template <typename Visit>
void ForEachLibrary(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const size_t size = std::min(list.find_first_of(" :"), list.size());
    if (size > 0) visit(list.substr(0, size));
    list.remove_prefix(std::min(size + 1, list.size()));
  }
}

// The entry that names our library; null when there is none, or too many to look at.
const char* PreloadOf(char* const* environment, size_t* count) {
  const char* preload = nullptr;
  *count = 0;
  for (char* const* entry = environment; entry != nullptr && *entry != nullptr; ++entry, ++*count) {
    if (std::strncmp(*entry, kPreload.data(), kPreload.size()) == 0) preload = *entry;
  }
  if (preload == nullptr || *count > kMaxVariables) return nullptr;
  bool is_named = false;
  ForEachLibrary(preload + kPreload.size(), [&](std::string_view library) { is_named |= IsOwn(library); });
  return is_named && std::strlen(preload) < 4096 ? preload : nullptr;
}

const char* WhyNot(const char* path) {
  if (!g_sink.MayWrite()) return "started under a seccomp filter that forbids recording";
  return path == nullptr ? nullptr : ObjectionTo(path);
}

// Calls start(environment) with LD_PRELOAD as it would be without us where `path` cannot take the shim, and as given elsewhere.
template <typename Start>
int WithFittingEnvironment(const char* path, const char* name, char* const* environment, Start start) {
  const int saved_errno = errno;
  size_t count;
  const char* preload = PreloadOf(environment, &count);
  const char* why = preload == nullptr ? nullptr : WhyNot(path);
  errno = saved_errno;
  if (why == nullptr) return start(environment);
  FixedText<512> line;
  line << (name == nullptr ? "a program" : std::string_view(name).substr(0, 300)) << " is " << why
       << ": it is not recorded";
  RawLog(line.view());
  Path rest;
  rest << kPreload;
  const size_t empty = rest.size();
  ForEachLibrary(preload + kPreload.size(), [&](std::string_view library) {
    if (!IsOwn(library)) rest << (rest.size() == empty ? "" : ":") << library;
  });
  auto** changed = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
  size_t used = 0;
  for (size_t i = 0; i < count; ++i) {
    if (std::strncmp(environment[i], kPreload.data(), kPreload.size()) != 0) {
      changed[used++] = environment[i];
    } else if (environment[i] == preload && rest.size() > empty) {
      changed[used++] = const_cast<char*>(rest.c_str());
    }
  }
  changed[used] = nullptr;
  errno = saved_errno;
  return start(changed);
}

}  // namespace

void ResolveIfNeeded() {
  if (g_real.dlclose != nullptr) return;
  const HookScope scope(t_thread);
  const OwnCallScope own(t_thread);
  ResolveRealFunctions();
}

int HookExecve(const char* path, char* const* argv, char* const* environment) {
  return WithFittingEnvironment(path, path, environment,
                                [=](char* const* fitting) { return g_real.execve(path, argv, fitting); });
}

int HookExecv(const char* path, char* const* argv) {
  ResolveIfNeeded();
  return WithFittingEnvironment(path, path, environ, [=](char* const* fitting) {
    return fitting == environ ? g_real.execv(path, argv) : g_real.execve(path, argv, fitting);
  });
}

int HookExecvpe(const char* file, char* const* argv, char* const* environment) {
  ResolveIfNeeded();
  Path found;
  return WithFittingEnvironment(SearchPath(file, &found), file, environment,
                                [=](char* const* fitting) { return g_real.execvpe(file, argv, fitting); });
}

int HookExecvp(const char* file, char* const* argv) {
  ResolveIfNeeded();
  Path found;
  return WithFittingEnvironment(SearchPath(file, &found), file, environ, [=](char* const* fitting) {
    return fitting == environ ? g_real.execvp(file, argv) : g_real.execvpe(file, argv, fitting);
  });
}

int HookFexecve(int fd, char* const* argv, char* const* environment) {
  ResolveIfNeeded();
  FixedText<64> path;
  path << "/proc/self/fd/" << fd;
  return WithFittingEnvironment(path.c_str(), nullptr, environment,
                                [=](char* const* fitting) { return g_real.fexecve(fd, argv, fitting); });
}

int HookSpawn(SpawnFunction real, bool searches_path, pid_t* pid, const char* file,
              const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
              char* const* argv, char* const* environment) {
  Path found;
  return WithFittingEnvironment(
      searches_path ? SearchPath(file, &found) : file, file, environment,
      [=](char* const* fitting) { return real(pid, file, actions, attributes, argv, fitting); });
}

}  // namespace plateau
