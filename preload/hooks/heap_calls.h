// The slow path of a call that allocates, frees or resizes, whichever allocator answers it: guard, real call,
// record. `call` is the real function with its arguments, `frame` the hook's own frame.
#ifndef PLATEAU_PRELOAD_HOOKS_HEAP_CALLS_H_
#define PLATEAU_PRELOAD_HOOKS_HEAP_CALLS_H_

#include <cstddef>

#include "preload/base/real_functions.h"
#include "preload/python/walk_scope.h"
#include "preload/recorder/early_blocks.h"
#include "preload/recorder/event.h"
#include "preload/recorder/thread_state.h"
#include "preload/sampler/sample_set.h"

extern "C" void __libc_free(void*);

namespace plateau {

// Runs `call`, which returns a block of `bytes` or null, and records it.
template <typename Call>
[[gnu::always_inline]] inline void* Allocate(size_t bytes, const void* frame, Call call) {
  ThreadState& t = t_thread;
  const HookScope scope(t);
  if (scope) [[likely]] {
    void* p = call();
    if (p != nullptr) RecordAlloc(t, p, bytes, frame);
    return p;
  }
  CountNested(t, bytes);
  void* p = call();
  if (p != nullptr) RememberEarlyBlock(p, bytes);
  return p;
}

// Blocks from before the constructor go back to libc, whoever is the allocator now.
inline bool TakeEarly(void* p, size_t* bytes) {
  if (!g_early_blocks.Take(p, bytes)) return false;
  if (!AllocatorIsLibc()) g_sample_set.Unwatch(reinterpret_cast<uintptr_t>(p));
  return true;
}

template <typename Call>
[[gnu::always_inline]] inline void Free(void* p, Call call) {
  if (p == nullptr) return;
  ThreadState& t = t_thread;
  size_t early_bytes;
  const HookScope scope(t);
  if (scope) [[likely]] {
    RecordFree(t, p);
  } else {
    CountNested(t, 0);
  }
  python::BeforeRelease();
  if (!g_early_blocks.empty() && TakeEarly(p, &early_bytes)) [[unlikely]] {
    __libc_free(p);
  } else {
    call();
  }
}

// `p` and `bytes` are not 0.
template <typename Call>
[[gnu::always_inline]] inline void* Reallocate(void* p, size_t bytes, const void* frame, Call call) {
  ThreadState& t = t_thread;
  const HookScope scope(t);
  if (!scope) [[unlikely]] {
    CountNested(t, bytes);
    return call();
  }
  const ReallocEvent event = BeginRealloc(t, p, bytes);
  void* result = call();
  if (!event.recording && result != nullptr) {
    size_t ignored;
    g_early_blocks.Take(p, &ignored);
  }
  EndRealloc(t, event, p, result, bytes, frame);
  return result;
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_HOOKS_HEAP_CALLS_H_
