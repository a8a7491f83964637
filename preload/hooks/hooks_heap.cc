// The slow paths of the malloc family.
#include <errno.h>
#include <malloc.h>

#include <cstring>

#include "preload/base/hook_frame.h"
#include "preload/base/page_size.h"
#include "preload/hooks/heap_calls.h"
#include "preload/hooks/hooks.h"

namespace plateau {
namespace {

// A block of libc's that grows under another allocator changes hands.
void* MoveEarly(void* p, size_t old_bytes, size_t bytes) {
  void* moved = g_real.malloc(bytes);
  if (moved == nullptr) {
    g_early_blocks.Add(p, old_bytes);
    g_sample_set.Watch(reinterpret_cast<uintptr_t>(p));
    return nullptr;
  }
  std::memcpy(moved, p, old_bytes < bytes ? old_bytes : bytes);
  __libc_free(p);
  return moved;
}

void* RealRealloc(void* p, size_t bytes) {
  size_t early_bytes;
  if (!AllocatorIsLibc() && TakeEarly(p, &early_bytes)) [[unlikely]]
    return MoveEarly(p, early_bytes, bytes);
  return g_real.realloc(p, bytes);
}

// realloc(p, 0) is a free that may return a new block: glibc returns null, others a block of the least size.
[[gnu::always_inline]] inline void* ReallocateToNothing(void* p, const void* frame) {
  ThreadState& t = t_thread;
  const HookScope scope(t);
  size_t early_bytes;
  void* result = nullptr;
  if (scope) RecordFree(t, p);
  if (TakeEarly(p, &early_bytes)) {
    __libc_free(p);
  } else {
    result = g_real.realloc(p, 0);
  }
  if (scope && result != nullptr) RecordAlloc(t, result, 0, frame);
  return result;
}

[[gnu::always_inline]] inline void* ReallocAny(void* p, size_t bytes, const void* frame) {
  if (p == nullptr) return Allocate(bytes, frame, [=] { return g_real.realloc(nullptr, bytes); });
  if (bytes == 0) return ReallocateToNothing(p, frame);
  return Reallocate(p, bytes, frame, [=] { return RealRealloc(p, bytes); });
}

size_t Product(size_t count, size_t bytes) {
  size_t total;
  return __builtin_mul_overflow(count, bytes, &total) ? SIZE_MAX : total;
}

size_t RoundUpToPage(size_t bytes) {
  const size_t page_bytes = PageBytes();
  return bytes > SIZE_MAX - page_bytes ? bytes : (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

}  // namespace

[[gnu::noinline]] void* MallocSlow(size_t bytes) {
  return Allocate(bytes, HookFrame(), [=] { return g_real.malloc(bytes); });
}

[[gnu::noinline]] void* CallocSlow(size_t count, size_t bytes) {
  return Allocate(Product(count, bytes), HookFrame(), [=] { return g_real.calloc(count, bytes); });
}

[[gnu::noinline]] void* ReallocSlow(void* p, size_t bytes) { return ReallocAny(p, bytes, HookFrame()); }

[[gnu::noinline]] void* ReallocarraySlow(void* p, size_t count, size_t bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) return g_real.reallocarray(p, count, bytes);
  return ReallocAny(p, total, HookFrame());
}

[[gnu::noinline]] void* MemalignSlow(size_t alignment, size_t bytes) {
  return Allocate(bytes, HookFrame(), [=] { return g_real.memalign(alignment, bytes); });
}

[[gnu::noinline]] void* AlignedAllocSlow(size_t alignment, size_t bytes) {
  return Allocate(bytes, HookFrame(), [=] { return g_real.aligned_alloc(alignment, bytes); });
}

[[gnu::noinline]] int PosixMemalignSlow(void** out, size_t alignment, size_t bytes) {
  int result = 0;
  Allocate(bytes, HookFrame(), [&]() -> void* {
    result = g_real.posix_memalign(out, alignment, bytes);
    return result == 0 ? *out : nullptr;
  });
  return result;
}

[[gnu::noinline]] void* VallocSlow(size_t bytes) {
  return Allocate(bytes, HookFrame(), [=] { return g_real.valloc(bytes); });
}

[[gnu::noinline]] void* PvallocSlow(size_t bytes) {
  return Allocate(RoundUpToPage(bytes), HookFrame(), [=] { return g_real.pvalloc(bytes); });
}

[[gnu::noinline]] static void FreeGuarded(void* p) {
  Free(p, [=] { g_real.free(p); });
}

[[gnu::noinline]] void FreeSlow(void* p) {
  if (g_early_blocks.empty() && RecordPlainFree(t_thread, p)) {
    python::BeforeRelease();
    return g_real.free(p);  // as in default mode, what the allocator does in there has no guard
  }
  FreeGuarded(p);
}

[[gnu::noinline]] void FreeSizedSlow(void* p, size_t bytes) {
  Free(p, [=] { g_real.free_sized(p, bytes); });
}

[[gnu::noinline]] void FreeAlignedSizedSlow(void* p, size_t alignment, size_t bytes) {
  Free(p, [=] { g_real.free_aligned_sized(p, alignment, bytes); });
}

}  // namespace plateau
