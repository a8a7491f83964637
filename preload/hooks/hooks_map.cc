// Memory straight from the kernel: mmap, munmap, mremap, brk, sbrk.
//
// What the real allocator maps is its own business and is not recorded: libc's does not come this way,
// another one's is told by its caller's address. UNMAP is recorded before the real call, because a moment
// later the range may be another thread's; MAP after it.
#include <errno.h>
#include <sys/mman.h>

#include "preload/base/real_functions.h"
#include "preload/hooks/hooks.h"
#include "preload/ledger/residency.h"
#include "preload/python/pymalloc.h"
#include "preload/python/walk_scope.h"
#include "preload/recorder/event.h"
#include "preload/trace/record.h"

namespace plateau {
namespace {

constexpr uintptr_t kPageMask = 4095;

trace::MapKind KindOf(int flags) {
  if (python::InArenaAllocator()) return trace::MapKind::kArena;
  if ((flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE) {
    return trace::MapKind::kShared;
  }
  return (flags & MAP_ANONYMOUS) ? trace::MapKind::kAnonymous : trace::MapKind::kFile;
}

void RecordMap(ThreadState& t, void* address, size_t bytes, int prot, int flags,
               const unwind::Registers& registers) {
  ThreadBuffer* buffer = BufferFor(t, bytes);
  if (buffer == nullptr) return;
  const uint32_t stack = StackOf(t, registers);
  buffer->StampTime();
  buffer->Append([&](trace::BlockWriter& w) {
    return w.Map({reinterpret_cast<uintptr_t>(address), bytes, static_cast<uint32_t>(prot),
                  static_cast<uint32_t>(flags), KindOf(flags), stack});
  });
  ForgetMaps(reinterpret_cast<uintptr_t>(address), bytes);  // MAP_FIXED maps over what was there
  if (KindOf(flags) == trace::MapKind::kAnonymous) {
    FollowRegion(trace::RegionKind::kMap, reinterpret_cast<uintptr_t>(address), bytes,
                 buffer->writer().last_tsc());
  }
  ReleaseBuffer(t);
}

void RecordUnmap(ThreadState& t, void* address, size_t bytes) {
  ThreadBuffer* buffer = BufferFor(t, 0);
  if (buffer == nullptr) return;
  buffer->StampTime();
  buffer->Append([&](trace::BlockWriter& w) {
    return w.Unmap({reinterpret_cast<uintptr_t>(address), bytes});
  });
  ForgetMaps(reinterpret_cast<uintptr_t>(address), bytes);
  ReleaseBuffer(t);
}

void RecordBreak(ThreadState& t, uintptr_t new_break, int64_t change, const unwind::Registers& registers) {
  ThreadBuffer* buffer = BufferFor(t, 0);
  if (buffer == nullptr) return;
  const uint32_t stack = StackOf(t, registers);
  buffer->StampTime();
  buffer->Append([&](trace::BlockWriter& w) { return w.Break({new_break, change, stack}); });
  ReleaseBuffer(t);
}

// Nothing is recorded for nested calls, and nothing is lost: they are the allocator's or ours.
bool IsOfProgram(const HookScope& scope, const unwind::Registers& registers) {
  return scope && !IsAllocatorCode(reinterpret_cast<void*>(registers.rip));
}

}  // namespace

[[gnu::noinline]] void* HookMmap(void* address, size_t bytes, int prot, int flags, int fd, off_t offset) {
  const unwind::Registers registers = unwind::CallerRegisters();
  ThreadState& t = t_thread;
  const HookScope scope(t);
  const bool record = IsOfProgram(scope, registers);
  void* result = g_real.mmap(address, bytes, prot, flags, fd, offset);
  if (record && result != MAP_FAILED) RecordMap(t, result, bytes, prot, flags, registers);
  return result;
}

[[gnu::noinline]] int HookMunmap(void* address, size_t bytes) {
  const unwind::Registers registers = unwind::CallerRegisters();
  ThreadState& t = t_thread;
  const HookScope scope(t);
  const bool record =
      IsOfProgram(scope, registers) && bytes != 0 && (reinterpret_cast<uintptr_t>(address) & kPageMask) == 0;
  if (record) RecordUnmap(t, address, bytes);
  python::BeforeRelease();
  const int result = g_real.munmap(address, bytes);
  // With sane arguments only a process out of map entries gets here: the range is still there.
  if (record && result != 0) {
    RecordMap(t, address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, registers);
  }
  return result;
}

[[gnu::noinline]] void* HookMremap(void* address, size_t old_bytes, size_t new_bytes, int flags,
                                   void* new_address) {
  const unwind::Registers registers = unwind::CallerRegisters();
  ThreadState& t = t_thread;
  const HookScope scope(t);
  const bool record = IsOfProgram(scope, registers);
  void* result = g_real.mremap(address, old_bytes, new_bytes, flags, new_address);
  ThreadBuffer* buffer = record && result != MAP_FAILED ? BufferFor(t, new_bytes) : nullptr;
  if (buffer != nullptr) {
    const uint32_t stack = StackOf(t, registers);
    buffer->StampTime();
    buffer->Append([&](trace::BlockWriter& w) {
      return w.Remap({reinterpret_cast<uintptr_t>(address), old_bytes, reinterpret_cast<uintptr_t>(result),
                      new_bytes, stack});
    });
    ForgetMaps(reinterpret_cast<uintptr_t>(address), old_bytes);
    ForgetMaps(reinterpret_cast<uintptr_t>(result), new_bytes);
    FollowRegion(trace::RegionKind::kMap, reinterpret_cast<uintptr_t>(result), new_bytes,
                 buffer->writer().last_tsc());
    ReleaseBuffer(t);
  }
  return result;
}

[[gnu::noinline]] int HookBrk(void* address) {
  const unwind::Registers registers = unwind::CallerRegisters();
  ThreadState& t = t_thread;
  const HookScope scope(t);
  const bool record = IsOfProgram(scope, registers);
  const int saved_errno = errno;
  const intptr_t before = reinterpret_cast<intptr_t>(g_real.sbrk(0));
  errno = saved_errno;
  const int result = g_real.brk(address);
  if (record && result == 0) {
    const intptr_t after = reinterpret_cast<intptr_t>(address);
    RecordBreak(t, static_cast<uintptr_t>(after), after - before, registers);
  }
  return result;
}

[[gnu::noinline]] void* HookSbrk(intptr_t change) {
  const unwind::Registers registers = unwind::CallerRegisters();
  ThreadState& t = t_thread;
  const HookScope scope(t);
  const bool record = IsOfProgram(scope, registers);
  void* result = g_real.sbrk(change);
  if (record && change != 0 && result != reinterpret_cast<void*>(-1)) {
    RecordBreak(t, reinterpret_cast<uintptr_t>(result) + static_cast<uintptr_t>(change), change, registers);
  }
  return result;
}

}  // namespace plateau
