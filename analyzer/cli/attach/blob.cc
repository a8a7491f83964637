// Compiled without anything that would need data, relocations or a runtime: see CMakeLists.txt.
#include "analyzer/cli/attach/blob.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#if defined(__x86_64__)

#define IN_BLOB __attribute__((section("plateau_blob"), noinline, used))

using plateau::AttachRequest;
using plateau::cli::BlobConstants;
using plateau::cli::BlobState;

extern "C" {
// The linker names the ends of a section whose name is that of a C symbol.
extern const unsigned char __start_plateau_blob[], __stop_plateau_blob[];
extern const unsigned char plateau_blob_constants[], plateau_blob_entries[];
void plateau_blob_call(const BlobConstants* constants);
void plateau_blob_before_fork(const BlobConstants* constants);
void plateau_blob_after_fork(const BlobConstants* constants, int child);
}

// One entry for each function, and what they share. Arguments stay in their registers; the rest may be changed by any call.
__asm__(R"(
        .pushsection plateau_blob, "ax", @progbits
        .globl  plateau_blob_constants
        .hidden plateau_blob_constants
        .balign 64
plateau_blob_constants:
        .quad   0
        .balign 16
        .globl  plateau_blob_entries
        .hidden plateau_blob_entries
plateau_blob_entries:
        .set    i, 0
        .rept   15
        .balign 16
        endbr64
        movl    $i, %r11d
        jmp     plateau_blob_common
        .set    i, i + 1
        .endr
        .balign 16
        endbr64
        jmp     plateau_blob_fork
        .balign 16
plateau_blob_common:
        movq    plateau_blob_constants(%rip), %r10
        movq    (%r10), %rax                # the state
        cmpl    $0, (%rax)                  # kBlobWaiting
        jne     1f
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        pushq   %r11
        movq    %r10, %rdi
        call    plateau_blob_call
        popq    %r11
        popq    %r9
        popq    %r8
        popq    %rcx
        popq    %rdx
        popq    %rsi
        popq    %rdi
        movq    plateau_blob_constants(%rip), %r10
1:      jmp     *8(%r10, %r11, 8)
        .balign 16
plateau_blob_fork:
        pushq   %rbx
        movq    plateau_blob_constants(%rip), %rdi
        call    plateau_blob_before_fork
        movq    plateau_blob_constants(%rip), %r10
        call    *8 + 15 * 8(%r10)
        movl    %eax, %ebx
        movq    plateau_blob_constants(%rip), %rdi
        movl    %eax, %esi
        call    plateau_blob_after_fork
        movl    %ebx, %eax
        popq    %rbx
        ret
        .popsection
)");
static_assert(plateau::cli::kBlobFunctionCount == 16 && plateau::cli::kBlobFork == 15);
static_assert(offsetof(BlobConstants, real) == 8 && offsetof(BlobState, progress) == 0 &&
              offsetof(BlobState, loader_thread) == 4);

namespace {

__attribute__((always_inline)) inline long Call(long number, long a = 0, long b = 0, long c = 0, long d = 0,
                                                long e = 0, long f = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

__attribute__((always_inline)) inline uint64_t Ns() {
  struct timespec now;
  Call(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

// Whose the state is: progress and loading thread at once, so that nobody sees one without the other.
__attribute__((always_inline)) inline uint64_t Owned(uint32_t progress, uint32_t thread) {
  return uint64_t{thread} << 32 | progress;
}
__attribute__((always_inline)) inline bool Change(BlobState* state, uint64_t from, uint64_t to) {
  return __atomic_compare_exchange_n(reinterpret_cast<uint64_t*>(state), &from, to, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

__attribute__((always_inline)) inline void SetProgress(BlobState* state, uint32_t progress) {
  __atomic_store_n(&state->progress, progress, __ATOMIC_RELEASE);
}

}  // namespace

extern "C" {

// On the stack of its own, which has room for the request.
IN_BLOB void plateau_blob_load(const BlobConstants* constants) {
  BlobState* const state = constants->state;
  int* const error_number = constants->errno_location();
  const int saved_errno = *error_number;
  int32_t (*entry)(AttachRequest*) = constants->entry;
  const uint64_t begin_ns = Ns();
  if (entry == nullptr) {
    void* const handle = constants->dlopen(constants->path, 2 /* RTLD_NOW */);
    if (handle != nullptr)
      entry = reinterpret_cast<int32_t (*)(AttachRequest*)>(constants->dlsym(handle, constants->entry_name));
  }
  if (state->fd >= 0) Call(SYS_close, state->fd);
  state->fd = -1;
  if (entry == nullptr) {
    const char* const text = constants->dlerror();
    for (unsigned i = 0; text != nullptr && text[i] != 0 && i + 1 < sizeof(state->error); ++i) {
      state->error[i] = text[i];
      __asm__ volatile("" ::: "memory");  // no call of memcpy
    }
    *error_number = saved_errno;
    return SetProgress(state, plateau::cli::kBlobFailed);
  }
  AttachRequest request;
  const volatile char* const from = reinterpret_cast<const volatile char*>(&constants->request);
  for (unsigned i = 0; i < sizeof(request); ++i) reinterpret_cast<volatile char*>(&request)[i] = from[i];
  state->result = entry(&request);
  state->words = request.words;
  state->modules = request.modules;
  state->modules_left_out = request.modules_left_out;
  state->program_imports = request.program_imports;
  state->patched_ns = request.patched_ns;
  state->held_ns = Ns() - begin_ns;
  *error_number = saved_errno;
  SetProgress(state, plateau::cli::kBlobLoaded);
}

// A fork waits for the thread that loads, five seconds at most.
IN_BLOB void plateau_blob_before_fork(const BlobConstants* constants) {
  BlobState* const state = constants->state;
  for (int round = 0;; ++round) {
    __atomic_fetch_add(&state->forks, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&state->progress, __ATOMIC_SEQ_CST) != plateau::cli::kBlobLoading || round == 5000)
      return;
    __atomic_fetch_sub(&state->forks, 1, __ATOMIC_SEQ_CST);
    struct timespec pause = {0, 1'000'000};
    Call(SYS_nanosleep, reinterpret_cast<long>(&pause));
  }
}

// Nobody waits for an answer of the child: it must not load.
IN_BLOB void plateau_blob_after_fork(const BlobConstants* constants, int child) {
  BlobState* const state = constants->state;
  if (child != 0) {
    __atomic_fetch_sub(&state->forks, 1, __ATOMIC_SEQ_CST);
    return;
  }
  state->forks = 0;
  state->loader_thread = 0;
  SetProgress(state, plateau::cli::kBlobDisarmed);
}

// With the registers of the call saved.
IN_BLOB void plateau_blob_call(const BlobConstants* constants) {
  BlobState* const state = constants->state;
  const uint32_t thread = static_cast<uint32_t>(Call(SYS_gettid));
  for (unsigned i = 0; i < plateau::cli::kMaxLoaderLocks; ++i) {
    const uint64_t lock = constants->loader_locks[i];
    if (lock == 0) break;
    if (*reinterpret_cast<volatile uint32_t*>(lock + 8) == thread) {
      __atomic_fetch_add(&state->passed_over, 1, __ATOMIC_RELAXED);
      return;
    }
  }
  const uint64_t nobodys = Owned(plateau::cli::kBlobWaiting, 0),
                 own = Owned(plateau::cli::kBlobLoading, thread);
  if (!Change(state, nobodys, own)) return;
  // The child of a fork would have a loader that is at work for ever.
  if (__atomic_load_n(&state->forks, __ATOMIC_SEQ_CST) != 0) {
    __atomic_fetch_add(&state->passed_over, 1, __ATOMIC_RELAXED);
    if (!Change(state, own, nobodys)) state->loader_thread = 0;  // disarmed meanwhile
    return;
  }
  if (constants->use_memory_file != 0 && state->fd < 0) {
    const long fd =
        Call(SYS_memfd_create, reinterpret_cast<long>(constants->entry_name), 1 /* MFD_CLOEXEC */);
    state->fd = static_cast<int32_t>(fd);
    return SetProgress(state, fd < 0 ? plateau::cli::kBlobFailed : plateau::cli::kBlobFileMade);
  }
  constexpr long kStackBytes = 1 << 20;
  if (state->stack_top == 0) {
    const long stack = Call(SYS_mmap, 0, kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack < 0 && stack > -4096) return SetProgress(state, plateau::cli::kBlobFailed);
    state->stack_top = static_cast<uint64_t>(stack + kStackBytes);
  }
  // The caller's stack may be small. Its handlers of signals wait: they know nothing of this stack.
  uint64_t all = ~uint64_t{0}, mask = 0;
  Call(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, reinterpret_cast<long>(&all), reinterpret_cast<long>(&mask), 8);
  register uint64_t top __asm__("rbx") = state->stack_top;
  __asm__ volatile(
      "xchg %%rsp, %%rbx\n\t"
      "call plateau_blob_load\n\t"
      "mov %%rbx, %%rsp"
      : "+r"(top)
      : "D"(constants)
      // Vector registers hold nothing of ours here: see CMakeLists.txt.
      : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
  Call(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, reinterpret_cast<long>(&mask), 0, 8);
}

}  // extern "C"

namespace plateau::cli {

BlobBytes GetBlobBytes() {
  return {__start_plateau_blob, static_cast<size_t>(__stop_plateau_blob - __start_plateau_blob),
          static_cast<size_t>(plateau_blob_constants - __start_plateau_blob),
          static_cast<size_t>(plateau_blob_entries - __start_plateau_blob)};
}

}  // namespace plateau::cli

#else

namespace plateau::cli {

BlobBytes GetBlobBytes() { return {nullptr, 0, 0, 0}; }

}  // namespace plateau::cli

#endif
