#include "preload/base/raw_memory.h"

#include <asm/unistd.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

#if !defined(__x86_64__)
#include <unistd.h>
#endif

namespace plateau::unwind {
namespace {

#if defined(__x86_64__)
long RawSyscall(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
#else
long RawSyscall(long number, long a, long b, long c, long d, long e, long f) {
  const int saved_errno = errno;
  const long result = syscall(number, a, b, c, d, e, f);
  const long returned = result == -1 ? -errno : result;
  errno = saved_errno;
  return returned;
}
#endif

constexpr long kMaxErrno = 4095;

}  // namespace

void* MapZeroed(size_t bytes) {
  const long result = RawSyscall(__NR_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (result < 0 && result >= -kMaxErrno) return nullptr;
  return reinterpret_cast<void*>(result);
}

void DropPages(void* begin, size_t bytes) {
  RawSyscall(__NR_madvise, reinterpret_cast<long>(begin), static_cast<long>(bytes), MADV_DONTNEED, 0, 0, 0);
}

bool IsReadable(uintptr_t address) {
  // The kernel copies the mask in before it looks at `how`, which no value of -1 can satisfy: EFAULT tells
  // that the bytes cannot be read, EINVAL that they can, and the signal mask stays as it is.
  constexpr long kImpossibleHow = -1;
  return RawSyscall(__NR_rt_sigprocmask, kImpossibleHow, static_cast<long>(address), 0, 8, 0, 0) == -EINVAL;
}

}  // namespace plateau::unwind
