#include "preload/unwind/stack_bounds.h"

#include <fcntl.h>
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

// The first byte of the mapping that holds `address`, 0 when it cannot be told. Reads "begin-end ..." lines.
uintptr_t MappingBegin(uintptr_t address) {
  const long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char buffer[2048];
  uintptr_t begin = 0, number = 0;
  bool in_numbers = true, found = false;
  long size;
  while (!found && (size = syscall(SYS_read, file, buffer, sizeof(buffer))) > 0) {
    for (long i = 0; i < size && !found; ++i) {
      const char c = buffer[i];
      if (c == '\n') {
        in_numbers = true;
        number = 0;
      } else if (!in_numbers) {
        continue;
      } else if (c == '-') {
        begin = number;
        number = 0;
      } else if (c == ' ') {
        in_numbers = false;
        found = begin <= address && address < number;
      } else {
        number = number << 4 | static_cast<uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10);
      }
    }
  }
  syscall(SYS_close, file);
  return found ? begin : 0;
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
  // Other threads have their control block at the top of their stack's mapping.
  const auto control_block = reinterpret_cast<uintptr_t>(__builtin_thread_pointer());
  bounds.begin = MappingBegin(control_block);
  if (bounds.begin != 0) bounds.end = control_block;
  errno = saved_errno;
  return bounds;
}

}  // namespace plateau::unwind
