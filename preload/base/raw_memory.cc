#include "preload/base/raw_memory.h"

#include <asm/unistd.h>
#include <sys/mman.h>

#include <cerrno>

#include "preload/base/system_call.h"

namespace plateau::unwind {

void* MapZeroed(size_t bytes) { return sys::MapAnonymous(bytes); }

void DropPages(void* begin, size_t bytes) {
  if (!sys::Failed(sys::Call(SYS_madvise, sys::Arg(begin), sys::Arg(bytes), MADV_DONTNEED))) return;
  // The kernel refuses for memory that the program has locked (mlockall), and a seccomp filter may refuse. Pages
  // that were never written stay untouched.
  auto* word = static_cast<uint64_t*>(begin);
  for (const uint64_t* end = word + bytes / sizeof(*word); word < end; ++word) {
    if (*word != 0) *word = 0;
  }
}

bool IsReadable(uintptr_t address) {
  // The kernel copies the mask in before it looks at `how`, which no value of -1 can satisfy: EFAULT tells
  // that the bytes cannot be read, EINVAL that they can, and the signal mask stays as it is.
  constexpr long kImpossibleHow = -1;
  return sys::Call(SYS_rt_sigprocmask, kImpossibleHow, static_cast<long>(address), 0, 8) == -EINVAL;
}

}  // namespace plateau::unwind
