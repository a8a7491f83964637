// The functions behind our hooks.
//
// Until ResolveRealFunctions() they are libc's own entry points, linked directly: no dlsym, no recursion, no
// dummy pool. Afterwards they are whatever the program would have called without us, perhaps another
// allocator. Blocks handed out before the switch are remembered by EarlyBlocks, because only libc can take
// them back.
#ifndef PLATEAU_PRELOAD_BASE_REAL_FUNCTIONS_H_
#define PLATEAU_PRELOAD_BASE_REAL_FUNCTIONS_H_

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdint>

namespace plateau {

struct RealFunctions {
  void* (*malloc)(size_t);
  void (*free)(void*);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void* (*reallocarray)(void*, size_t, size_t);
  void* (*memalign)(size_t, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*valloc)(size_t);
  void* (*pvalloc)(size_t);
  void (*free_sized)(void*, size_t);
  void (*free_aligned_sized)(void*, size_t, size_t);
  void* (*mmap)(void*, size_t, int, int, int, off_t);
  int (*munmap)(void*, size_t);
  void* (*mremap)(void*, size_t, size_t, int, ...);
  int (*brk)(void*);
  void* (*sbrk)(intptr_t);
  int (*dlclose)(void*);
  int (*pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  void (*exit_now)(int);  // _exit
  int (*prctl)(int, ...);
  int (*sigaction)(int, const struct sigaction*, struct sigaction*);
  sighandler_t (*signal)(int, sighandler_t);
  int (*execve)(const char*, char* const*, char* const*);
  int (*execv)(const char*, char* const*);
  int (*execvp)(const char*, char* const*);
  int (*execvpe)(const char*, char* const*, char* const*);
  int (*fexecve)(int, char* const*, char* const*);
  int (*posix_spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                     char* const*, char* const*);
  int (*posix_spawnp)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                      char* const*, char* const*);
  pid_t (*wait)(int*);
  pid_t (*wait3)(int*, int, struct rusage*);
  pid_t (*waitpid)(pid_t, int*, int);
  pid_t (*wait4)(pid_t, int*, int, struct rusage*);
  int (*waitid)(idtype_t, id_t, siginfo_t*, int);
};
extern RealFunctions g_real;

// The real syscall(), which takes any arguments. Its name is that of C, because the entry of our hook is assembler.
using SyscallFunction = long (*)(long, long, long, long, long, long, long);
extern "C" SyscallFunction plateau_real_syscall;

// Looks the functions up behind this library. Under the guard: dlsym may allocate.
void ResolveRealFunctions();

// True before ResolveRealFunctions(), and afterwards when malloc and __libc_malloc are still one. Some
// allocators define both names, so this says who takes early blocks back, not who it is.
bool AllocatorIsLibc();
// The allocator is the C library's own, which mallinfo2() describes.
bool AllocatorIsGlibc();
// What glibc's allocator says of itself. Takes the locks of its arenas.
struct AllocatorAccount {
  uint64_t arena_bytes;   // main and thread heaps
  uint64_t free_bytes;    // of these, free
  uint64_t mapped_bytes;  // blocks with a mapping of their own
};
AllocatorAccount ReadAllocatorAccount();
// Whether code at `pc` belongs to an allocator whose blocks are recorded: its maps are its own business.
bool IsAllocatorCode(const void* pc);
// Says that code in [begin, end) does. One thread at a time.
void AddAllocatorCode(uintptr_t begin, uintptr_t end);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_REAL_FUNCTIONS_H_
