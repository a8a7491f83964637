#include "preload/unwind/stack_bounds.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

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
  return bounds;
}

}  // namespace

StackBounds CurrentStackBounds() {
  const int saved_errno = errno;
  StackBounds bounds;
  if (syscall(SYS_gettid) == getpid()) {
    bounds = MainStackBounds();
    // The main thread of a process that was forked from another thread runs on that thread's stack.
    const auto here = reinterpret_cast<uintptr_t>(&bounds);
    if (here >= bounds.begin && here < bounds.end) {
      errno = saved_errno;
      return bounds;
    }
    bounds = StackBounds{};
  }
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* begin = nullptr;
    size_t bytes = 0;
    if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
      bounds.begin = reinterpret_cast<uintptr_t>(begin);
      bounds.end = bounds.begin + bytes;
    }
    pthread_attr_destroy(&attributes);
  }
  errno = saved_errno;
  return bounds;
}

}  // namespace plateau::unwind
