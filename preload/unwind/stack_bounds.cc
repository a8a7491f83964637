#include "preload/unwind/stack_bounds.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "preload/base/raw_memory.h"

// Set by the loader: the main thread's stack pointer at the first instruction of the process. Everything that
// the program's frames use is below it; what the kernel put above (arguments, environment) ends the mapping.
extern "C" void* __libc_stack_end __attribute__((weak));

namespace plateau::unwind {
namespace {

StackBounds MainStackBounds() {
  StackBounds bounds;
  if (&__libc_stack_end == nullptr || __libc_stack_end == nullptr) return bounds;
  // The entry code finds argc at __libc_stack_end, so the words from there on can be read.
  bounds.end = reinterpret_cast<uintptr_t>(__libc_stack_end) + 2 * sizeof(uintptr_t);
  struct rlimit limit;
  uintptr_t bytes = kMaxMainStackBytes;
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < bytes) bytes = limit.rlim_cur;
  bounds.begin = bounds.end - bytes;
  bounds.floor = bounds.begin;
  return bounds;
}

}  // namespace

StackBounds CurrentStackBounds() {
  const int saved_errno = errno;
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  StackBounds main_stack;
  if (syscall(SYS_gettid) == getpid()) main_stack = MainStackBounds();
  errno = saved_errno;
  if (here >= main_stack.begin && here < main_stack.end) return main_stack;
  // Another thread, the main thread of a process that was forked from one, or code that runs on a stack of
  // its own for now (a coroutine, a signal handler). In the last case nothing is found yet, and later
  // captures extend the bounds.
  const auto control_block = reinterpret_cast<uintptr_t>(__builtin_thread_pointer());
  StackBounds bounds = {control_block, control_block, 0};
  ExtendStackBounds(here, &bounds);
  return bounds.begin == bounds.end && main_stack.end != 0 ? main_stack : bounds;
}

void ExtendStackBounds(uintptr_t rsp, StackBounds* bounds) {
  if (rsp < bounds->floor || rsp >= bounds->begin || bounds->begin - rsp > kMaxProbedBytes) return;
  const uintptr_t wanted = rsp & ~(kPageBytes - 1);
  for (uintptr_t page = (bounds->begin - 1) & ~(kPageBytes - 1);; page -= kPageBytes) {
    if (!IsReadable(page)) {
      bounds->floor = page + kPageBytes;
      return;
    }
    if (page == wanted) break;
  }
  bounds->begin = wanted;
}

}  // namespace plateau::unwind
