// System calls that go straight to the kernel: they never run a hook of ours or of anybody else, and never
// touch errno. A result from -4095 to -1 is a negative error number.
//
// Call() is for what we do ourselves. Somebody may stand in between: a seccomp filter of the program forbids
// some calls (system_filter.h), and tests let them fail. KernelCall() is for what we do in the program's name.
//
// Safe everywhere: before constructors, in signal handlers, in a forked child. Allocates: never.
#ifndef PLATEAU_PRELOAD_BASE_SYSTEM_CALL_H_
#define PLATEAU_PRELOAD_BASE_SYSTEM_CALL_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace plateau::sys {

inline long KernelCall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if defined(__x86_64__)
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "Plateau records on x86-64 and AArch64 Linux"
#endif
}

// Asked instead of the kernel when it is set.
using Interceptor = long (*)(long number, long a, long b, long c, long d, long e, long f);
inline constinit std::atomic<Interceptor> g_interceptor{nullptr};
// How many threads are inside Call(): whoever sets the interceptor may wait until those that did not see it are through.
inline constinit std::atomic<int> g_calls_at_work{0};

inline long Call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  g_calls_at_work.fetch_add(1);
  const Interceptor interceptor = g_interceptor.load();
  const long result =
      interceptor == nullptr ? KernelCall(number, a, b, c, d, e, f) : interceptor(number, a, b, c, d, e, f);
  g_calls_at_work.fetch_sub(1);
  return result;
}

template <typename T>
long Arg(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return static_cast<long>(reinterpret_cast<uintptr_t>(value));
  } else {
    return static_cast<long>(value);
  }
}

inline bool Failed(long result) { return result < 0 && result >= -4095; }

// Zeroed private memory; null when the kernel refuses.
inline void* MapAnonymous(size_t bytes) {
  const long result = Call(SYS_mmap, 0, Arg(bytes), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return Failed(result) ? nullptr : reinterpret_cast<void*>(result);
}
inline long Mmap(void* address, size_t bytes, int prot, int flags, int fd, int64_t offset) {
  return Call(SYS_mmap, Arg(address), Arg(bytes), prot, flags, fd, offset);
}
inline long Munmap(void* address, size_t bytes) { return Call(SYS_munmap, Arg(address), Arg(bytes)); }
inline long Open(const char* path, int flags, int mode = 0) {
  return Call(SYS_openat, AT_FDCWD, Arg(path), flags | O_CLOEXEC, mode);
}
inline long Close(int fd) { return Call(SYS_close, fd); }
inline long Read(int fd, void* data, size_t size) { return Call(SYS_read, fd, Arg(data), Arg(size)); }
inline long Pread(int fd, void* data, size_t size, uint64_t offset) {
  return Call(SYS_pread64, fd, Arg(data), Arg(size), Arg(offset));
}
inline long Write(int fd, const void* data, size_t size) { return Call(SYS_write, fd, Arg(data), Arg(size)); }
inline long Pwrite(int fd, const void* data, size_t size, uint64_t offset) {
  return Call(SYS_pwrite64, fd, Arg(data), Arg(size), Arg(offset));
}
inline long Pwritev(int fd, const iovec* parts, int count, uint64_t offset) {
  return Call(SYS_pwritev, fd, Arg(parts), count, Arg(offset), 0);
}
inline long Fallocate(int fd, int mode, uint64_t offset, uint64_t bytes) {
  return Call(SYS_fallocate, fd, mode, Arg(offset), Arg(bytes));
}
inline long Getpid() { return Call(SYS_getpid); }
inline long Gettid() { return Call(SYS_gettid); }
inline void Yield() { Call(SYS_sched_yield); }
inline long Getrlimit(int resource, struct rlimit* limit) {
  return Call(SYS_prlimit64, 0, resource, 0, Arg(limit));
}

// Reads the first bytes of a small file and ends them by a 0. Returns how many, 0 when it cannot be read.
inline size_t ReadFile(const char* path, char* out, size_t capacity) {
  const long fd = Open(path, O_RDONLY);
  if (Failed(fd)) return 0;
  size_t used = 0;
  while (used + 1 < capacity) {
    const long got = Read(static_cast<int>(fd), out + used, capacity - 1 - used);
    if (got <= 0) break;
    used += static_cast<size_t>(got);
  }
  Close(static_cast<int>(fd));
  out[used] = 0;
  return used;
}

}  // namespace plateau::sys

#endif  // PLATEAU_PRELOAD_BASE_SYSTEM_CALL_H_
