// The exported functions. Each is a fast path that leaves no frame behind, or a jump to its slow path;
// nothing is decided here. Compiled without frame pointers, so that the slow path sees the program's frame as
// its caller.
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdint>

#include "preload/base/real_functions.h"
#include "preload/hooks/exec_hooks.h"
#include "preload/hooks/hooks.h"
#include "preload/hooks/process_hooks.h"
#include "preload/hooks/sandbox_hooks.h"
#include "preload/hooks/signal_hooks.h"

#define PLATEAU_EXPORT __attribute__((visibility("default"), noinline))

using plateau::FastAlloc;
using plateau::FastFree;
using plateau::g_real;

extern "C" {

PLATEAU_EXPORT void* malloc(size_t bytes) {
  if (FastAlloc(bytes)) [[likely]]
    return g_real.malloc(bytes);
  return plateau::MallocSlow(bytes);
}

PLATEAU_EXPORT void free(void* p) {
  if (p == nullptr) return;
  if (FastFree(p)) [[likely]]
    return g_real.free(p);
  plateau::FreeSlow(p);
}

PLATEAU_EXPORT void* calloc(size_t count, size_t bytes) {
  size_t total;
  if (!__builtin_mul_overflow(count, bytes, &total) && FastAlloc(total)) [[likely]]
    return g_real.calloc(count, bytes);
  return plateau::CallocSlow(count, bytes);
}

PLATEAU_EXPORT void* realloc(void* p, size_t bytes) {
  if (p != nullptr && bytes != 0 && !plateau::g_sample_set.MayContain(reinterpret_cast<uintptr_t>(p)) &&
      plateau::g_gate.fast_free.load(std::memory_order_relaxed) == 1 && FastAlloc(bytes)) [[likely]] {
    ++plateau::t_thread.totals->free_calls;
    return g_real.realloc(p, bytes);
  }
  return plateau::ReallocSlow(p, bytes);
}

PLATEAU_EXPORT void* reallocarray(void* p, size_t count, size_t bytes) {
  return plateau::ReallocarraySlow(p, count, bytes);
}

PLATEAU_EXPORT void* memalign(size_t alignment, size_t bytes) {
  if (FastAlloc(bytes)) [[likely]]
    return g_real.memalign(alignment, bytes);
  return plateau::MemalignSlow(alignment, bytes);
}

PLATEAU_EXPORT void* aligned_alloc(size_t alignment, size_t bytes) {
  if (FastAlloc(bytes)) [[likely]]
    return g_real.aligned_alloc(alignment, bytes);
  return plateau::AlignedAllocSlow(alignment, bytes);
}

PLATEAU_EXPORT int posix_memalign(void** out, size_t alignment, size_t bytes) {
  if (FastAlloc(bytes)) [[likely]]
    return g_real.posix_memalign(out, alignment, bytes);
  return plateau::PosixMemalignSlow(out, alignment, bytes);
}

PLATEAU_EXPORT void* valloc(size_t bytes) { return plateau::VallocSlow(bytes); }

PLATEAU_EXPORT void* pvalloc(size_t bytes) { return plateau::PvallocSlow(bytes); }

PLATEAU_EXPORT void cfree(void* p) {
  if (p == nullptr) return;
  if (FastFree(p)) [[likely]]
    return g_real.free(p);
  plateau::FreeSlow(p);
}

PLATEAU_EXPORT void free_sized(void* p, size_t bytes) {
  if (p == nullptr) return;
  if (FastFree(p)) [[likely]]
    return g_real.free_sized(p, bytes);
  plateau::FreeSizedSlow(p, bytes);
}

PLATEAU_EXPORT void free_aligned_sized(void* p, size_t alignment, size_t bytes) {
  if (p == nullptr) return;
  if (FastFree(p)) [[likely]]
    return g_real.free_aligned_sized(p, alignment, bytes);
  plateau::FreeAlignedSizedSlow(p, alignment, bytes);
}

PLATEAU_EXPORT void* mmap(void* address, size_t bytes, int prot, int flags, int fd, off_t offset) {
  return plateau::HookMmap(address, bytes, prot, flags, fd, offset);
}

PLATEAU_EXPORT void* mmap64(void* address, size_t bytes, int prot, int flags, int fd, off_t offset) {
  return plateau::HookMmap(address, bytes, prot, flags, fd, offset);
}

PLATEAU_EXPORT int munmap(void* address, size_t bytes) { return plateau::HookMunmap(address, bytes); }

PLATEAU_EXPORT void* mremap(void* address, size_t old_bytes, size_t new_bytes, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  void* new_address = va_arg(arguments, void*);
  va_end(arguments);
  return plateau::HookMremap(address, old_bytes, new_bytes, flags, new_address);
}

PLATEAU_EXPORT int brk(void* address) { return plateau::HookBrk(address); }

PLATEAU_EXPORT void* sbrk(intptr_t change) { return plateau::HookSbrk(change); }

PLATEAU_EXPORT int dlclose(void* handle) { return plateau::HookDlclose(handle); }

PLATEAU_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                                  void* argument) {
  return plateau::HookPthreadCreate(thread, attributes, start, argument);
}

PLATEAU_EXPORT void _exit(int status) { plateau::HookExit(status); }

PLATEAU_EXPORT void _Exit(int status) { plateau::HookExit(status); }

// Another library may call anything of its own `wait`, so whatever it takes and returns is handed on.
PLATEAU_EXPORT long AnyWait(long a, long b, long c, long d, long e, long f) __asm__("wait");
PLATEAU_EXPORT long AnyWait(long a, long b, long c, long d, long e, long f) {
  return plateau::HookWait(a, b, c, d, e, f);
}

PLATEAU_EXPORT pid_t wait3(int* status, int options, struct rusage* usage) noexcept {
  return plateau::HookWait3(status, options, usage);
}

PLATEAU_EXPORT pid_t waitpid(pid_t pid, int* status, int options) {
  return plateau::HookWaitpid(pid, status, options);
}

PLATEAU_EXPORT pid_t wait4(pid_t pid, int* status, int options, struct rusage* usage) noexcept {
  return plateau::HookWait4(pid, status, options, usage);
}

PLATEAU_EXPORT int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  return plateau::HookWaitid(type, id, info, options);
}

PLATEAU_EXPORT int prctl(int option, ...) {
  va_list arguments;
  va_start(arguments, option);
  const unsigned long a = va_arg(arguments, unsigned long), b = va_arg(arguments, unsigned long);
  const unsigned long c = va_arg(arguments, unsigned long), d = va_arg(arguments, unsigned long);
  va_end(arguments);
  return plateau::HookPrctl(option, a, b, c, d);
}

PLATEAU_EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  plateau::ResolveIfNeeded();
  return plateau::HookSigaction(signal, action, old);
}

PLATEAU_EXPORT sighandler_t signal(int signal, sighandler_t handler) noexcept {
  plateau::ResolveIfNeeded();
  return plateau::HookSignal(signal, handler);
}

PLATEAU_EXPORT int execve(const char* path, char* const* argv, char* const* environment) noexcept {
  return plateau::HookExecve(path, argv, environment);
}

PLATEAU_EXPORT int execv(const char* path, char* const* argv) noexcept {
  return plateau::HookExecv(path, argv);
}

PLATEAU_EXPORT int execvp(const char* file, char* const* argv) noexcept {
  return plateau::HookExecvp(file, argv);
}

PLATEAU_EXPORT int execvpe(const char* file, char* const* argv, char* const* environment) noexcept {
  return plateau::HookExecvpe(file, argv, environment);
}

PLATEAU_EXPORT int fexecve(int fd, char* const* argv, char* const* environment) noexcept {
  return plateau::HookFexecve(fd, argv, environment);
}

// The list of arguments becomes an array, as in the C library; a null ends it. Both arguments of the macro are names.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define PLATEAU_LIST_TO_ARRAY(first, argv)                                                  \
  va_list arguments;                                                                        \
  size_t count = 0;                                                                         \
  va_start(arguments, first);                                                               \
  for (const char* word = first; word != nullptr; word = va_arg(arguments, char*)) ++count; \
  va_end(arguments);                                                                        \
  auto** argv = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));         \
  char** next = argv;                                                                       \
  va_start(arguments, first);                                                               \
  for (const char* word = first; word != nullptr; word = va_arg(arguments, char*)) {        \
    *next++ = const_cast<char*>(word);                                                      \
  }                                                                                         \
  *next = nullptr
// NOLINTEND(bugprone-macro-parentheses)

PLATEAU_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  PLATEAU_LIST_TO_ARRAY(first, argv);
  va_end(arguments);
  return plateau::HookExecv(path, argv);
}

PLATEAU_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  PLATEAU_LIST_TO_ARRAY(first, argv);
  va_end(arguments);
  return plateau::HookExecvp(file, argv);
}

PLATEAU_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  PLATEAU_LIST_TO_ARRAY(first, argv);
  char* const* environment = va_arg(arguments, char* const*);
  va_end(arguments);
  return plateau::HookExecve(path, argv, environment);
}

// Cancellation points: glibc declares them without noexcept.
PLATEAU_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const* argv,
                               char* const* environment) {
  plateau::ResolveIfNeeded();
  return plateau::HookSpawn(g_real.posix_spawn, false, pid, path, actions, attributes, argv, environment);
}

PLATEAU_EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const* argv,
                                char* const* environment) {
  plateau::ResolveIfNeeded();
  return plateau::HookSpawn(g_real.posix_spawnp, true, pid, file, actions, attributes, argv, environment);
}

}  // extern "C"
