// The exported functions. Each is a fast path that leaves no frame behind, or a jump to its slow path;
// nothing is decided here. Compiled without frame pointers, so that the slow path sees the program's frame as
// its caller.
#include <pthread.h>
#include <stdarg.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "preload/base/real_functions.h"
#include "preload/hooks/hooks.h"
#include "preload/hooks/process_hooks.h"

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

}  // extern "C"
