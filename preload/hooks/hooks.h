// The slow paths behind the exported functions: one for each kind of event, each guard, real call, record.
//
// The exported functions are either fast (counters, tail call of the real function) or tail-call one of
// these. They are compiled with a frame pointer and never inlined, so that their own frame gives the
// registers of the program's call. errno on return is what the real function left. Policy (what is recorded)
// is in tracer.cc.
#ifndef PLATEAU_PRELOAD_HOOKS_HOOKS_H_
#define PLATEAU_PRELOAD_HOOKS_HOOKS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "preload/python/walk_scope.h"
#include "preload/recorder/thread_state.h"
#include "preload/sampler/sample_set.h"

namespace plateau {

void* MallocSlow(size_t bytes);
void* CallocSlow(size_t count, size_t bytes);
void* ReallocSlow(void* p, size_t bytes);
void* ReallocarraySlow(void* p, size_t count, size_t bytes);
void* MemalignSlow(size_t alignment, size_t bytes);
void* AlignedAllocSlow(size_t alignment, size_t bytes);
int PosixMemalignSlow(void** out, size_t alignment, size_t bytes);
void* VallocSlow(size_t bytes);
void* PvallocSlow(size_t bytes);
void FreeSlow(void* p);
void FreeSizedSlow(void* p, size_t bytes);
void FreeAlignedSizedSlow(void* p, size_t alignment, size_t bytes);

void* HookMmap(void* address, size_t bytes, int prot, int flags, int fd, off_t offset);
int HookMunmap(void* address, size_t bytes);
void* HookMremap(void* address, size_t old_bytes, size_t new_bytes, int flags, void* new_address);
int HookBrk(void* address);
void* HookSbrk(intptr_t change);

// True when a request may go straight to the real function: it has been counted.
inline bool FastAlloc(size_t bytes) {
  ThreadState& t = t_thread;
  if (bytes >= g_gate.fast_below.load(std::memory_order_relaxed)) [[unlikely]]
    return false;
  const int64_t left = t.bytes_until_sample - static_cast<int64_t>(bytes);
  trace::Totals* totals = t.totals;
  if (left < 0 || totals == nullptr) [[unlikely]]
    return false;
  t.bytes_until_sample = left;
  ++totals->alloc_calls;
  totals->alloc_bytes += bytes;
  return true;
}

// True when a pointer may be freed the straight way: it has been counted. Not while an interpreter is being
// finalised, which may be giving back what Python frame walks read: the slow path waits for them.
inline bool FastFree(void* p) {
  if (g_gate.fast_free.load(std::memory_order_relaxed) == 0) return false;
  ThreadState& t = t_thread;
  trace::Totals* totals = t.totals;
  if (python::IsFinalizing() || totals == nullptr || g_sample_set.MayContain(reinterpret_cast<uintptr_t>(p)))
      [[unlikely]] {
    return false;
  }
  ++totals->free_calls;
  return true;
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_HOOKS_HOOKS_H_
