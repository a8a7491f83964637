#include "preload/hooks/sandbox_hooks.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "preload/base/clock.h"
#include "preload/base/raw_memory.h"
#include "preload/base/real_functions.h"
#include "preload/base/system_filter.h"
#include "preload/recorder/sandbox.h"

namespace plateau {
namespace {

// The kernel answers a bad pointer with EFAULT, and so must we.
bool IsReadable(const void* begin, size_t bytes) {
  constexpr uintptr_t kWord = 8, kPage = 4096;
  const uintptr_t first = reinterpret_cast<uintptr_t>(begin) / kWord * kWord;
  const uintptr_t last = (reinterpret_cast<uintptr_t>(begin) + bytes - 1) / kWord * kWord;
  for (uintptr_t word = first; word < last; word += kPage) {
    if (!unwind::IsReadable(word)) return false;
  }
  return unwind::IsReadable(last);
}

bool ReadProgram(unsigned long argument, sock_fprog* program) {
  const auto* given = reinterpret_cast<const sock_fprog*>(argument);
  if (given == nullptr || !IsReadable(given, sizeof(*given))) return false;
  *program = *given;
  return program->filter != nullptr && program->len > 0 && program->len <= BPF_MAXINSNS &&
         IsReadable(program->filter, program->len * sizeof(*program->filter));
}

// Forbids us what the filter forbids, for as long as `call` may have put it into force.
template <typename Call>
auto LockIn(const sys::CallSet& calls, bool without_tsc, Call call) {
  if (calls.empty()) return call();
  PrepareForSandbox();
  const sys::CallSet before = sys::ForbiddenCalls();
  if (without_tsc) LeaveTsc();
  sys::Forbid(calls);
  const auto result = call();
  // With SECCOMP_FILTER_FLAG_TSYNC a positive number names the thread that refused; it may also be a descriptor
  // (FLAG_NEW_LISTENER), so only what is surely a failure is taken back.
  if (result < 0) {
    const int saved_errno = errno;
    sys::AllowAgain(before);
    errno = saved_errno;
  }
  return result;
}

template <typename Call>
auto SetFilter(unsigned long argument, Call call) {
  sock_fprog program;
  if (!ReadProgram(argument, &program)) return call();
  return LockIn(sys::FilteredCalls(program), /*without_tsc=*/false, call);
}

template <typename Call>
auto WatchPrctl(long option, unsigned long a, unsigned long b, Call call) {
  if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_FILTER) return SetFilter(b, call);
  if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT)
    return LockIn(sys::StrictlyFilteredCalls(), /*without_tsc=*/true, call);
  if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV) LeaveTsc();
  return call();
}

}  // namespace

int HookPrctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  return WatchPrctl(option, a, b, [=] { return g_real.prctl(option, a, b, c, d); });
}

}  // namespace plateau

extern "C" long plateau_watched_syscall(long number, long a, long b, long c, long d, long e, long f) {
  using namespace plateau;
  const auto call = [=] { return plateau_real_syscall(number, a, b, c, d, e, f); };
  const auto unsigned_of = [](long value) { return static_cast<unsigned long>(value); };
  if (number == SYS_prctl) return WatchPrctl(static_cast<int>(a), unsigned_of(b), unsigned_of(c), call);
  if (number == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER) return SetFilter(unsigned_of(c), call);
  if (number == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT)
    return LockIn(sys::StrictlyFilteredCalls(), /*without_tsc=*/true, call);
  return call();
}

// A call that makes a process which shares our memory must not find a frame of ours on the stack, so whatever
// we do not look at is a jump to the real function.
#if defined(__x86_64__)
asm(R"(
        .text
        .globl  syscall
        .type   syscall, @function
        .p2align 4
syscall:
        .cfi_startproc
        endbr64
        cmpq    $157, %rdi              # SYS_prctl
        je      plateau_watched_syscall
        cmpq    $317, %rdi              # SYS_seccomp
        je      plateau_watched_syscall
        movq    plateau_real_syscall(%rip), %rax
        jmp     *%rax
        .cfi_endproc
        .size   syscall, . - syscall
)");
static_assert(SYS_prctl == 157 && SYS_seccomp == 317);
#elif defined(__aarch64__)
asm(R"(
        .text
        .globl  syscall
        .type   syscall, %function
        .p2align 4
syscall:
        .cfi_startproc
        cmp     x0, #167                // SYS_prctl
        b.eq    plateau_watched_syscall
        cmp     x0, #277                // SYS_seccomp
        b.eq    plateau_watched_syscall
        adrp    x16, plateau_real_syscall
        ldr     x16, [x16, #:lo12:plateau_real_syscall]
        br      x16
        .cfi_endproc
        .size   syscall, . - syscall
)");
static_assert(SYS_prctl == 167 && SYS_seccomp == 277);
#endif
