#include "preload/base/real_functions.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "preload/base/module_walk.h"
#include "preload/base/old_glibc.h"
#include "preload/base/real_symbol.h"
#include "preload/base/system_call.h"

extern "C" {
void* __libc_malloc(size_t);
void __libc_free(void*);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void* __libc_valloc(size_t);
void* __libc_pvalloc(size_t);
void* __sbrk(intptr_t);
extern void* __curbrk;
const char* gnu_get_libc_version();
}

namespace plateau {
namespace {

// Stand-ins that serve until the constructor has run: functions that libc exports under a second name, and
// system calls.

int EarlyPosixMemalign(void** out, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  const int saved = errno;
  void* p = __libc_memalign(alignment, bytes);
  errno = saved;
  if (p == nullptr) return ENOMEM;
  *out = p;
  return 0;
}

void* EarlyReallocarray(void* p, size_t count, size_t bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(p, total);
}

void FreeSized(void* p, size_t) { g_real.free(p); }
void FreeAlignedSized(void* p, size_t, size_t) { g_real.free(p); }

template <typename T>
T WithErrno(long result) {
  if (sys::Failed(result)) {
    errno = static_cast<int>(-result);
    return (T)-1;
  }
  return (T)result;
}

void* KernelMmap(void* address, size_t bytes, int prot, int flags, int fd, off_t offset) {
  return WithErrno<void*>(
      sys::KernelCall(SYS_mmap, sys::Arg(address), sys::Arg(bytes), prot, flags, fd, offset));
}
int KernelMunmap(void* address, size_t bytes) {
  return WithErrno<int>(sys::KernelCall(SYS_munmap, sys::Arg(address), sys::Arg(bytes)));
}
void* KernelMremap(void* address, size_t old_bytes, size_t new_bytes, int flags, ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, flags);
  void* new_address = __builtin_va_arg(arguments, void*);
  __builtin_va_end(arguments);
  return WithErrno<void*>(sys::KernelCall(SYS_mremap, sys::Arg(address), sys::Arg(old_bytes),
                                          sys::Arg(new_bytes), flags, sys::Arg(new_address)));
}
// An allocator may move the break while it initialises, with its lock held, when dlsym would call it again.
int KernelBrk(void* address) {
  void* const now = reinterpret_cast<void*>(sys::KernelCall(SYS_brk, sys::Arg(address)));
  __curbrk = now;
  if (now >= address) return 0;
  errno = ENOMEM;
  return -1;
}
void KernelExit(int status) {
  for (;;) sys::KernelCall(SYS_exit_group, status);
}

int KernelPrctl(int option, ...) {
  unsigned long a[4];
  __builtin_va_list arguments;
  __builtin_va_start(arguments, option);
  for (unsigned long& argument : a) argument = __builtin_va_arg(arguments, unsigned long);
  __builtin_va_end(arguments);
  return WithErrno<int>(
      sys::KernelCall(SYS_prctl, option, sys::Arg(a[0]), sys::Arg(a[1]), sys::Arg(a[2]), sys::Arg(a[3])));
}
int KernelExecve(const char* path, char* const* argv, char* const* environment) {
  return WithErrno<int>(sys::KernelCall(SYS_execve, sys::Arg(path), sys::Arg(argv), sys::Arg(environment)));
}
long KernelSyscall(long number, long a, long b, long c, long d, long e, long f) {
  return WithErrno<long>(sys::KernelCall(number, a, b, c, d, e, f));
}

template <typename T>
bool Resolve(const char* name, T* function) {
  void* found = g_opened_late ? FindRealSymbol(name, nullptr) : dlsym(RTLD_NEXT, name);
  if (found == nullptr) return false;
  std::memcpy(function, &found, sizeof(found));
  return true;
}

struct Range {
  uintptr_t begin;
  uintptr_t end;
};
// The code of the real allocator, then of others whose calls are hooked. Written before the count.
constexpr size_t kMaxAllocatorCode = 6;
constinit Range g_allocator_code[kMaxAllocatorCode] = {};
constinit std::atomic<size_t> g_allocator_codes{0};
constinit bool g_is_libc = true;
constinit bool g_is_glibc = true;

int FindAllocator(dl_phdr_info* info, size_t, void*) {
  const uintptr_t target = reinterpret_cast<uintptr_t>(g_real.malloc);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) && target >= begin &&
        target < begin + segment.p_memsz) {
      AddAllocatorCode(begin, begin + segment.p_memsz);
      g_is_glibc = IsAllocatorCode(reinterpret_cast<void*>(&gnu_get_libc_version));
      return 1;
    }
  }
  return 0;
}

}  // namespace

constinit SyscallFunction plateau_real_syscall = KernelSyscall;

constinit RealFunctions g_real = {
    __libc_malloc,
    __libc_free,
    __libc_calloc,
    __libc_realloc,
    EarlyReallocarray,
    __libc_memalign,
    __libc_memalign,
    EarlyPosixMemalign,
    __libc_valloc,
    __libc_pvalloc,
    FreeSized,
    FreeAlignedSized,
    KernelMmap,
    KernelMunmap,
    KernelMremap,
    KernelBrk,
    __sbrk,
    nullptr,
    nullptr,
    KernelExit,
    KernelPrctl,
    nullptr,
    nullptr,
    KernelExecve,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

// mallinfo2 came with glibc 2.33 and is found at run time, because a weak reference would still demand its version. Older
// versions have mallinfo, whose fields are of 32 bits: they are right up to 4 GiB and wrap above.
using MallinfoFunction = struct mallinfo2 (*)();
constinit MallinfoFunction g_mallinfo2 = nullptr;

AllocatorAccount ReadAllocatorAccount() {
  if (g_mallinfo2 != nullptr) {
    const struct mallinfo2 info = g_mallinfo2();
    return {info.arena, info.fordblks, info.hblkhd};
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo info = mallinfo();
#pragma GCC diagnostic pop
  return {static_cast<unsigned>(info.arena), static_cast<unsigned>(info.fordblks),
          static_cast<unsigned>(info.hblkhd)};
}

void ResolveRealFunctions() {
  RealFunctions found = g_real;
  Resolve("malloc", &found.malloc);
  Resolve("free", &found.free);
  Resolve("calloc", &found.calloc);
  Resolve("realloc", &found.realloc);
  Resolve("reallocarray", &found.reallocarray);
  Resolve("memalign", &found.memalign);
  Resolve("aligned_alloc", &found.aligned_alloc);
  Resolve("posix_memalign", &found.posix_memalign);
  Resolve("valloc", &found.valloc);
  Resolve("pvalloc", &found.pvalloc);
  Resolve("free_sized", &found.free_sized);
  Resolve("mallinfo2", &g_mallinfo2);
  Resolve("free_aligned_sized", &found.free_aligned_sized);
  Resolve("mmap", &found.mmap);
  Resolve("munmap", &found.munmap);
  Resolve("mremap", &found.mremap);
  Resolve("brk", &found.brk);
  Resolve("sbrk", &found.sbrk);
  Resolve("dlclose", &found.dlclose);
  Resolve("pthread_create", &found.pthread_create);
  Resolve("_exit", &found.exit_now);
  Resolve("prctl", &found.prctl);
  Resolve("syscall", &plateau_real_syscall);
  Resolve("sigaction", &found.sigaction);
  Resolve("signal", &found.signal);
  Resolve("execve", &found.execve);
  Resolve("execv", &found.execv);
  Resolve("execvp", &found.execvp);
  Resolve("execvpe", &found.execvpe);
  Resolve("fexecve", &found.fexecve);
  Resolve("posix_spawn", &found.posix_spawn);
  Resolve("posix_spawnp", &found.posix_spawnp);
  Resolve("wait", &found.wait);
  Resolve("wait3", &found.wait3);
  Resolve("waitpid", &found.waitpid);
  Resolve("wait4", &found.wait4);
  Resolve("waitid", &found.waitid);
  // All names are switched at once, so that no block comes from one allocator and goes to another because a
  // name was switched later.
  g_is_libc = found.malloc == __libc_malloc;
  g_real = found;
  WalkModules(FindAllocator, nullptr);
}

bool AllocatorIsLibc() { return g_is_libc; }
bool AllocatorIsGlibc() { return g_is_glibc; }

void AddAllocatorCode(uintptr_t begin, uintptr_t end) {
  const size_t count = g_allocator_codes.load(std::memory_order_relaxed);
  if (count == kMaxAllocatorCode || IsAllocatorCode(reinterpret_cast<void*>(begin))) return;
  g_allocator_code[count] = {begin, end};
  g_allocator_codes.store(count + 1, std::memory_order_release);
}

bool IsAllocatorCode(const void* pc) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pc);
  const size_t count = g_allocator_codes.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    if (address - g_allocator_code[i].begin < g_allocator_code[i].end - g_allocator_code[i].begin)
      return true;
  }
  return false;
}

}  // namespace plateau
